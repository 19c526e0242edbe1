"""What another policy would have decided: each recorded pod on the state that it was judged on.

Every pod is judged by its last recorded attempt. The states are those of the recording: a pod that the other policy
places elsewhere takes no room there for the pods that follow.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, repeat
from operator import eq
from typing import NamedTuple

from berth.scheduling.framework.status import Status
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.input_files import InvalidInput
from berth_cli.policy.diff.policy_diff import PolicyDiff, pods_text
from berth_cli.recording.replay import RecordedDecision, RecordedDecisions
from berth_cli.simulate.changed_objects import PodName
from berth_cli.simulate.comparison import Cause, compare
from berth_cli.simulate.run import Place, PlaceKind, Run, rules_of

FILTERS = frozenset({"filter", "filter_onlyone"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """Where a policy would have sent a pod. rejected: the statuses of the other nodes."""

    node: str
    rejected: Mapping[str, Status]


class _Judged(NamedTuple):
    """The last attempt of a pod, by both policies. Of the state nothing is kept: a day has many pods."""

    pod: Pod
    before: Place
    after: Place
    cause: Cause | None


def judge(
    policy: Policy,
    pod: Pod,
    names: list[str],
    snapshot: Snapshot,
    preferred: str = "",
    open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS,
) -> Judgement:
    """A feasible node with the highest score; of equal ones the preferred one, or one that depends on the pod alone:
    else all pods of a moment would meet on one node."""
    found = policy.feasibility(pod, names, snapshot, open_gangs=open_gangs)
    scores = policy.scores(pod, found.feasible, snapshot)
    equal = sorted(compress(found.feasible, map(eq, scores, repeat(max(scores, default=0)))))
    if preferred in equal or not equal:
        return Judgement(preferred if equal else "", found.rejected)
    return Judgement(equal[_number_of(pod.uid) % len(equal)], found.rejected)


def diff_recording(recorded: RecordedDecisions, old: Policy | None, new: Policy, where: str) -> PolicyDiff:
    """old: None is the recorded policy. where: the recording, for messages. Raises InvalidInput."""
    last: dict[PodName, _Judged] = {}
    for decision in recorded:
        if decision.line.verb in FILTERS:
            last[decision.pod.namespace, decision.pod.name] = _judged(decision, old or decision.policy, new)
    if not last:
        raise InvalidInput(f"{where}: no decisions of filter to compare")
    base = _emptied(recorded.last_snapshot, last)
    causes = {name: each.cause for name, each in last.items() if each.cause is not None}
    before = _run({name: (each.pod, each.before) for name, each in last.items()}, base)
    after = _run({name: (each.pod, each.after) for name, each in last.items()}, base)
    missing = dict.fromkeys(text for policy in (old, new) if policy for text in recorded.missing_fields(policy))
    source = f"{where}: {pods_text(len(last))} judged on the recorded states"
    return PolicyDiff(compare(before, after, reasons=causes), len(last), source, tuple(missing))


def _judged(decision: RecordedDecision, old: Policy, new: Policy) -> _Judged:
    pod, names, snapshot, gangs = decision.pod, list(decision.line.nodes), decision.snapshot, decision.open_gangs
    before = judge(old, pod, names, snapshot, open_gangs=gangs)
    after = judge(new, pod, names, snapshot, before.node, gangs)
    cause = None
    if before.node and after.node != before.node:
        cause = Cause.of(before.node, after.rejected.get(before.node))
    return _Judged(pod, _place(before), _place(after), cause)


def _number_of(uid: str) -> int:
    """The same in every run, unlike the hash of a string."""
    return zlib.crc32(uid.encode())


def _run(judged: Mapping[PodName, tuple[Pod, Place]], base: Snapshot) -> Run:
    placed = [replace(pod, node_name=place.node) for pod, place in judged.values() if place.node in base.nodes]
    nodes: dict[str, NodeInfo] = dict(base.with_changes(Changes(pods=placed)).nodes)
    on_nodes = {(pod.namespace, pod.name): node.name for node in nodes.values() for pod in node.pods}
    priorities = {name: pod.priority or 0 for name, (pod, _) in judged.items()}
    return Run({name: place for name, (_, place) in judged.items()}, on_nodes, priorities, nodes)


def _place(judgement: Judgement) -> Place:
    if judgement.node:
        return Place(PlaceKind.NODE, judgement.node)
    rules = rules_of(judgement.rejected)
    return Place(PlaceKind.PENDING, message=", ".join(map(str, rules)), rules=rules)


def _emptied(snapshot: Snapshot, judged: Iterable[PodName]) -> Snapshot:
    """The last state without the judged pods."""
    names = set(judged)
    gone = [
        (node.name, pod.uid)
        for node in snapshot.nodes.values()
        for pod in node.pods
        if (pod.namespace, pod.name) in names
    ]
    gone += [("", pod.uid) for pod in snapshot.unbound.values() if (pod.namespace, pod.name) in names]
    return snapshot.with_changes(Changes(pods_gone=gone))
