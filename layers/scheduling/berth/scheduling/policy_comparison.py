"""Compares two policies: both decide on a sample of recent pods of one snapshot. No I/O.

A sampled pod that is on a node is evaluated as if it were pending. The snapshot does not keep the node selector,
node affinity, tolerations and spread constraints of such a pod, so both policies evaluate it without them. A pending
pod has all these fields.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import nlargest

from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

SAMPLE_PODS = 20
_NEWEST = 400


@dataclass(frozen=True, slots=True)
class Judgment:
    """A policy's decision on a pod. best: the feasible node with the highest score (ties go to the first name); empty
    if no node is feasible. rejections: the number of rejected nodes, by reason."""

    feasible: frozenset[str]
    best: str
    rejections: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PodChange:
    pod: str
    node: str
    before: Judgment
    after: Judgment


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two policies. judged: the number of evaluated pods. pending: the number of these pods
    without a node. nodes: the number of nodes in the snapshot. fitting_before, fitting_after: the number of evaluated
    pods that have a feasible node, or wait only for a floating pool (its capacity may be below the used amount)."""

    judged: int
    pending: int
    nodes: int
    fitting_before: int
    fitting_after: int
    changes: tuple[PodChange, ...]


class PolicyFailed(Exception):
    """The new policy could not evaluate a pod. The message names the pod and the cause."""


def recent_pods(snapshot: Snapshot, most: int = SAMPLE_PODS) -> list[Pod]:
    """Return pending pods, then the most recently started pods, one for each controller, without finished, terminating
    and gated pods. At least half of the sample are pods on nodes, if there are enough: pending pods that never fit
    would not show that a policy rejects everything."""
    on_nodes = (pod for node in snapshot.nodes.values() for pod in node.pods)
    newest = nlargest(_NEWEST, on_nodes, key=lambda pod: -math.inf if pod.start_time is None else pod.start_time)
    by_name = sorted(snapshot.unbound.values(), key=lambda pod: (pod.namespace, pod.name))
    pending, placed = _one_of_each_controller(by_name, most), _one_of_each_controller(newest, most)
    kept = placed[: max(most // 2, most - len(pending))]
    return [*pending[: most - len(kept)], *kept]


def _one_of_each_controller(pods: Iterable[Pod], most: int) -> list[Pod]:
    found: dict[object, Pod] = {}
    for pod in pods:
        if len(found) == most:
            break
        if not (pod.finished or pod.terminating or pod.spec.gated):
            found.setdefault((pod.namespace, pod.spec.controller or pod.name), pod)
    return list(found.values())


def compare_policies(
    before: Policy, after: Policy, snapshot: Snapshot, pods: Iterable[Pod], is_over: Callable[[], bool]
) -> Comparison:
    """Evaluate the pods with both policies, until `is_over` returns True. Raises PolicyFailed if the new policy fails.
    Leave out pods that both policies exempt: they fit in any case, and would hide that all other pods are rejected."""
    judged = pending = fitting_before = fitting_after = 0
    changes = []
    names = sorted(snapshot.nodes)
    for pod in pods:
        if is_over():
            break
        # The snapshot lacks the node affinity and tolerations of a placed DaemonSet pod: its result would be wrong.
        if all(each.exempts(pod) or (pod.node_name and each.was_exempt(pod)) for each in (before, after)):
            continue
        unplaced, without = _unplaced(pod, snapshot)
        try:
            old = _judgment(before, unplaced, names, without)
        except PluginFailed as error:
            # Continue if the old policy fails: the new policy may fix that.
            old = Judgment(frozenset(), "", {str(error): len(names)})
        try:
            new = _judgment(after, unplaced, names, without)
        except PluginFailed as error:
            raise PolicyFailed(f"pod {pod.namespace}/{pod.name}: {error}") from error
        except Exception as error:
            raise PolicyFailed(f"pod {pod.namespace}/{pod.name}: {type(error).__name__}: {error}") from error
        judged, pending = judged + 1, pending + (not pod.node_name)
        fitting_before += _has_place(old, before)
        fitting_after += _has_place(new, after)
        if old.feasible != new.feasible or old.best != new.best:
            changes.append(PodChange(f"{pod.namespace}/{pod.name}", pod.node_name, old, new))
    return Comparison(judged, pending, len(names), fitting_before, fitting_after, tuple(changes))


def _has_place(judgment: Judgment, policy: Policy) -> bool:
    waits = policy.counting.floating.reasons_to_wait
    return bool(judgment.feasible) or (bool(judgment.rejections) and judgment.rejections.keys() <= waits)


def _unplaced(pod: Pod, snapshot: Snapshot) -> tuple[Pod, Snapshot]:
    if not pod.node_name:
        return pod, snapshot
    return replace(pod, node_name=""), snapshot.with_changes(Changes(pods_gone=[(pod.node_name, pod.uid)]))


def _judgment(policy: Policy, pod: Pod, names: list[str], snapshot: Snapshot) -> Judgment:
    found = policy.feasibility(pod, names, snapshot)
    scores = policy.scores(pod, found.feasible, snapshot)
    highest = max(scores, default=0)
    best = min((name for name, score in zip(found.feasible, scores, strict=True) if score == highest), default="")
    reasons = Counter(reason for status in found.rejected.values() for reason in status.reasons)
    return Judgment(frozenset(found.feasible), best, reasons)
