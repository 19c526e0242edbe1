"""Computes the decisions of another policy: each recorded pod is evaluated on the state of its last attempt.

The states are those of the recording: if the other policy places a pod on another node, this node's free amounts for
later pods do not change. Decisions that the old policy made are repeated, and must be the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace
from itertools import compress, repeat
from operator import eq

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import Status
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.changed_objects import PodName
from berth_cli.placement.comparison import Cause, compare
from berth_cli.placement.policy.policy_diff import PolicyDiff
from berth_cli.placement.recording.replay import RecordedDecision, RecordedDecisions
from berth_cli.placement.report import pods_text
from berth_cli.placement.run import Place, PlaceKind, Run, rules_of
from berth_cli.terminal.input_files import InvalidInput

FILTERS = frozenset({"filter", "filter_onlyone"})
_Judged = tuple[Pod, Place, Place, Cause | None]
"""A pod, its place under each policy, and the cause of the difference. Without states: a recording has many pods."""


def diff_recording(
    recorded: RecordedDecisions, old: BerthConfiguration, new: BerthConfiguration, where: str
) -> PolicyDiff:
    """Compare two policies. where: the recording's name in messages. Raises InvalidInput."""
    policies, repeated, differing = (old.policy(), new.policy()), 0, 0
    last: dict[PodName, _Judged] = {}
    for decision in recorded:
        snapshot = decision.snapshot
        if decision.configuration == old:
            repeated += 1
            found = decision.repeated(policies[0])
            differing += found is None
            snapshot = found or snapshot
        if decision.line.verb in FILTERS:
            last[decision.pod.namespace, decision.pod.name] = _judged(decision, snapshot, *policies)
    if not last:
        raise InvalidInput(f"{where}: no decisions of filter to compare")
    base = _without(recorded.last_snapshot, last)
    before = _run({name: (pod, place) for name, (pod, place, _, _) in last.items()}, base, old.counting)
    after = _run({name: (pod, place) for name, (pod, _, place, _) in last.items()}, base, new.counting)
    causes = {name: cause for name, (*_, cause) in last.items() if cause is not None}
    missing = dict.fromkeys(text for policy in policies for text in recorded.missing_fields(policy))
    source = f"{where}: {pods_text(len(last))} judged on the recorded states"
    if repeated:
        source += f", {repeated} decisions of the old policy made again, {differing} differ"
    return PolicyDiff(compare(before, after, reasons=causes), len(last), source, tuple(missing), repeated, differing)


def _judged(decision: RecordedDecision, snapshot: Snapshot, old: Policy, new: Policy) -> _Judged:
    before, _ = _best(old, decision, snapshot)
    after, rejected = _best(new, decision, snapshot, before.node)
    moved = bool(before.node) and after.node != before.node
    cause = Cause.of(before.node, rejected.get(before.node)) if moved else None
    return decision.pod, before, after, cause


def _best(
    policy: Policy, decision: RecordedDecision, snapshot: Snapshot, preferred: str = ""
) -> tuple[Place, Mapping[str, Status]]:
    """Return a feasible node with the highest score, and the statuses of the rejected nodes. Among equal scores, return
    the preferred node, or a node that depends on the pod's UID: otherwise all concurrent pods would get the same node.
    """
    pod, gangs = decision.pod, decision.line.open_gangs
    found = policy.feasibility(pod, list(decision.nodes), snapshot, open_gangs=gangs)
    scores = policy.scores(pod, found.feasible, snapshot)
    equal = sorted(compress(found.feasible, map(eq, scores, repeat(max(scores, default=0)))))
    if not equal:
        rules = rules_of(found.rejected)
        return Place(PlaceKind.PENDING, message=", ".join(map(str, rules)), rules=rules), found.rejected
    # Unlike a string's hash, this checksum is the same in every process.
    node = preferred if preferred in equal else equal[zlib.crc32(pod.uid.encode()) % len(equal)]
    return Place(PlaceKind.NODE, node), found.rejected


def _run(judged: Mapping[PodName, tuple[Pod, Place]], base: Snapshot, counting: Counting) -> Run:
    placed = [replace(pod, node_name=place.node) for pod, place in judged.values() if place.node in base.nodes]
    nodes = dict(base.with_changes(Changes(pods=placed)).nodes)
    on_nodes = {(pod.namespace, pod.name): node.name for node in nodes.values() for pod in node.pods}
    priorities = {name: pod.priority or 0 for name, (pod, _) in judged.items()}
    return Run({name: place for name, (_, place) in judged.items()}, on_nodes, priorities, nodes, counting)


def _without(snapshot: Snapshot, judged: Mapping[PodName, object]) -> Snapshot:
    """Return the last state without the evaluated pods."""
    pods = [(node.name, pod) for node in snapshot.nodes.values() for pod in node.pods]
    pods += [("", pod) for pod in snapshot.unbound.values()]
    gone = [(node, pod.uid) for node, pod in pods if (pod.namespace, pod.name) in judged]
    return snapshot.with_changes(Changes(pods_gone=gone))
