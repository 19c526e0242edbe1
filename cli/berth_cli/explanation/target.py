"""The pod to explain, as in a dump, and the cluster without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from berth.scheduling.fields.reading import MalformedField, Object, part
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.objects.pod_group import names_gang
from berth.scheduling.objects.projection import SELECTING, is_placed, select_fields
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.case import Case
from berth_cli.explanation.pod_state import PodState, read_state
from berth_cli.placement.changed_objects import pod_name
from berth_cli.placement.warnings import pod_warnings
from berth_cli.sources.dump.admission import AdmissionDenied, admit, parse_name, with_defaults
from berth_cli.sources.dump.cluster import read_cluster, trim
from berth_cli.terminal.input_files import InvalidInput


@dataclass(frozen=True, slots=True)
class Target:
    """The pod to explain. case: the pod without a node, in the cluster without the pod but with other waiting members
    of gangs. warnings: warnings about parts that the dump lacks. waiting: the other pods without a node."""

    case: Case
    state: PodState
    warnings: tuple[str, ...] = ()
    waiting: tuple[tuple[Pod, PodState], ...] = ()


GONE_FROM_DUMP = "it is gone, or newer than the dump; dump again, or check the name"


def read_target(
    objects: Iterable[Object],
    where: str,
    pod: str,
    counting: Counting,
    gone: str = GONE_FROM_DUMP,
    *,
    is_trimmed: bool = False,
) -> Target:
    """Find the pod among the objects of a cluster. gone: the message if it is missing. is_trimmed: whether the objects
    have only the fields that the rules read. Raises InvalidInput."""
    namespace, name = parse_name(pod)
    found: Object | None = None
    trimmed, states = [], dict[tuple[str, str], PodState | None]()
    selecting: dict[tuple[str, str], Object] = {}
    kinds: Counter[str] = Counter()
    for obj in objects:
        kinds[str(obj.get("kind"))] += 1
        if obj.get("kind") == "Pod":
            own = pod_name(obj)
            states[own] = None if is_placed(obj) else read_state(obj)
            if own == (namespace, name):
                found = obj
                continue
            if states[own] is None and not is_trimmed:
                selecting[own] = select_fields(part(obj, "spec"), SELECTING)
        trimmed.append(trim(obj, counting))
    cluster = read_cluster(trimmed, where)
    if found is None:
        raise InvalidInput(_not_found(namespace, name, list(states), where, gone))
    unplaced = {**found, "spec": {key: value for key, value in part(found, "spec").items() if key != "nodeName"}}
    try:
        read = read_pod(admit(unplaced, cluster.priority_classes))
    except (MalformedField, AdmissionDenied) as error:
        raise InvalidInput(f"pod {namespace}/{name}: {error}") from error
    if isinstance(read, UnreadableObject):
        raise InvalidInput(f"pod {namespace}/{name}: {read.cause}")
    members = [pod for pod in cluster.pods if names_gang(pod) and not pod.nominated_node]
    admitted = [with_defaults(pod, cluster.priority_classes) for pod in members]
    snapshot = cluster.snapshot.with_changes(Changes(pods=admitted)) if admitted else cluster.snapshot
    state, warnings = read_state(found), [] if is_trimmed else list(pod_warnings(found, kinds))
    warnings += [f"{count} left out: {reason}" for reason, count in cluster.left_out.items()]
    waiting = [(pod, known) for pod in cluster.pods if (known := states.get((pod.namespace, pod.name)))]
    unlike = tuple(each for each in warnings if each not in state.unchecked)
    return Target(Case(read, snapshot, selecting=selecting), state, unlike, tuple(waiting))


def _not_found(namespace: str, name: str, pods: Iterable[tuple[str, str]], where: str, gone: str) -> str:
    close = get_close_matches(name, [own for other, own in pods if other == namespace], 1)
    found = [f"{other}/{own}" for other, own in sorted(pods) if own == name] + [f"{namespace}/{own}" for own in close]
    return f"{where} has no pod {namespace}/{name}{f'; did you mean {found[0]}?' if found else f': {gone}'}"
