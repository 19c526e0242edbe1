"""Which pods are placed, and in which order: kube-scheduler's queue.

The highest priority comes first, as there. Pods of one priority go by namespace and name: a dump does not say which of
them came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from berth.scheduling.objects import Pod
from berth_cli.simulate.admission import DEFAULT_SCHEDULER


class Skipped(StrEnum):
    """Why a pod without a node is not placed."""

    FINISHED = "finished"
    TERMINATING = "being deleted"
    GATED = "gated"
    ANOTHER_SCHEDULER = "of another scheduler"


@dataclass(frozen=True, slots=True)
class Queue:
    """The pods to place, in order; how many others there are, and by whom those of other schedulers are placed."""

    pods: tuple[Pod, ...]
    skipped: Counter[Skipped] = field(default_factory=Counter)
    other_schedulers: frozenset[str] = frozenset()


def queue(pods: Iterable[Pod], schedulers: Collection[str]) -> Queue:
    """Of pods without a node. `schedulers`: whose pods are placed; none stands for any."""
    taken: list[Pod] = []
    skipped: Counter[Skipped] = Counter()
    others: set[str] = set()
    for pod in pods:
        reason = _skipped(pod, schedulers)
        if reason is None:
            taken.append(pod)
            continue
        skipped[reason] += 1
        if reason is Skipped.ANOTHER_SCHEDULER:
            others.add(pod.scheduler_name)
    taken.sort(key=lambda pod: (-(pod.priority or 0), pod.namespace, pod.name))
    return Queue(tuple(taken), skipped, frozenset(others))


def _skipped(pod: Pod, schedulers: Collection[str]) -> Skipped | None:
    if pod.finished:
        return Skipped.FINISHED
    if pod.terminating:
        return Skipped.TERMINATING
    if pod.spec.gated:
        return Skipped.GATED
    if schedulers and (pod.scheduler_name or DEFAULT_SCHEDULER) not in schedulers:
        return Skipped.ANOTHER_SCHEDULER
    return None
