"""What another policy would have decided: each recorded pod on the state that it was judged on.

Every pod is judged by its last recorded attempt. The states are those of the recording: a pod that the other policy
places elsewhere takes no room there for the pods that follow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from berth.scheduling.framework.status import Status
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.input_files import InvalidInput
from berth_cli.policy.diff.policy_diff import PolicyDiff, pods_text
from berth_cli.recording.replay import RecordedDecision, RecordedDecisions
from berth_cli.simulate.comparison.comparison import Cause, compare
from berth_cli.simulate.comparison.run import Place, PlaceKind, PodName, Run, rules_of

FILTERS = frozenset({"filter", "filter_onlyone"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """Where a policy would have sent a pod. rejected: the statuses of the other nodes."""

    pod: Pod
    node: str
    rejected: Mapping[str, Status]


def judge(
    policy: Policy,
    pod: Pod,
    names: list[str],
    snapshot: Snapshot,
    preferred: str = "",
    open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS,
) -> Judgement:
    """A feasible node with the highest score; of equal ones the preferred one, or one that depends on the pod: else all
    pods of a moment would meet on one node."""
    found = policy.feasibility(pod, names, snapshot, open_gangs=open_gangs)
    scores = policy.scores(pod, found.feasible, snapshot)
    highest = max(scores, default=0)
    equal = [name for name, score in zip(found.feasible, scores, strict=True) if score == highest]
    best = preferred if preferred in equal else min(equal, key=lambda name: _order(pod.uid, name), default="")
    return Judgement(pod, best, found.rejected)


def diff_recording(recorded: RecordedDecisions, old: Policy | None, new: Policy, where: str) -> PolicyDiff:
    """old: None is the recorded policy. where: the recording, for messages. Raises InvalidInput."""
    last: dict[PodName, RecordedDecision] = {}
    before: dict[PodName, Judgement] = {}
    after: dict[PodName, Judgement] = {}
    for decision in recorded:
        if decision.line.verb not in FILTERS:
            continue
        name = decision.pod.namespace, decision.pod.name
        last[name] = decision
        names = list(decision.line.nodes)
        gangs = decision.open_gangs
        before[name] = judge(old or decision.policy, decision.pod, names, decision.snapshot, open_gangs=gangs)
        after[name] = judge(new, decision.pod, names, decision.snapshot, before[name].node, gangs)
    if not last:
        raise InvalidInput(f"{where}: no decisions of filter to compare")
    causes = {
        name: Cause.of(each.node, after[name].rejected.get(each.node))
        for name, each in before.items()
        if each.node and after[name].node != each.node
    }
    base = _emptied(recorded.last_snapshot, last)
    comparison = compare(_run(before, base), _run(after, base), reasons=causes)
    return PolicyDiff(comparison, len(last), f"{where}: {pods_text(len(last))} judged on the recorded states")


def _order(uid: str, name: str) -> bytes:
    """The same in every run, unlike the hash of a string."""
    return hashlib.blake2b(f"{uid}/{name}".encode(), digest_size=8).digest()


def _run(judgements: Mapping[PodName, Judgement], base: Snapshot) -> Run:
    places = {name: _place(each) for name, each in judgements.items()}
    placed = [replace(each.pod, node_name=each.node) for each in judgements.values() if each.node in base.nodes]
    nodes: dict[str, NodeInfo] = dict(base.with_changes(Changes(pods=placed)).nodes)
    on_nodes = {(pod.namespace, pod.name): node.name for node in nodes.values() for pod in node.pods}
    priorities = {name: each.pod.priority or 0 for name, each in judgements.items()}
    return Run(places, on_nodes, priorities, nodes)


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
