"""kube-scheduler's queue: selects the pods to place, and sorts them.

Pods with higher priority are first, then older pods: a dump does not show when a pod entered the queue. Pods of
equal age are sorted by namespace and name. Numbers in names are compared as numbers: replica 9 is before replica 10.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth_cli.sources.dump.cluster import Cluster, read_cluster, trim
from berth_cli.sources.dump.manifests import Manifests

NO_MANIFESTS = Manifests()


class SkipReason(StrEnum):
    """The reasons why a pod without a node is not placed."""

    FINISHED = "finished"
    TERMINATING = "being deleted"
    GATED = "gated"
    ANOTHER_SCHEDULER = "of another scheduler"


@dataclass(frozen=True, slots=True)
class Queue:
    """The pods to place, in order; the number of skipped pods by reason; and the names of other schedulers, the one
    with the most pods first."""

    pods: tuple[Pod, ...]
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    other_schedulers: tuple[str, ...] = ()


def read_queue(
    objects: Iterable[Object],
    where: str,
    configuration: BerthConfiguration,
    schedulers: Collection[str] = (),
    manifests: Manifests = NO_MANIFESTS,
    created: Collection[tuple[str, str]] = (),
) -> tuple[Cluster, Queue]:
    """Read the cluster of a dump, and the pods to place in it: the manifests' pods, for any scheduler, or else the
    pending pods of the schedulers. Raises InvalidInput. schedulers: the scheduler names; if empty, the default
    scheduler and those in `profiles`. created: namespace and name of pods of the dump that are always placed.
    """
    trimmed = [trim(obj, configuration.counting) for obj in objects]
    cluster = read_cluster([*trimmed, *manifests.others], where, replaced=manifests.names)
    if not manifests.pods:
        schedulers = schedulers or (DEFAULT_SCHEDULER, *configuration.profiles)
        return cluster, build_queue(cluster.pods, schedulers, created)
    also = [pod for pod in cluster.pods if (pod.namespace, pod.name) in created]
    return cluster, build_queue([*manifests.read(cluster.priority_classes), *also], ())


def build_queue(pods: Iterable[Pod], schedulers: Collection[str], created: Collection[tuple[str, str]] = ()) -> Queue:
    """Queue the pods without a node. `schedulers`: the schedulers whose pods are queued; empty for all. `created`:
    namespace and name of pods that are placed for any scheduler."""
    queued: list[Pod] = []
    skipped: Counter[SkipReason] = Counter()
    others: Counter[str] = Counter()
    for pod in pods:
        reason = _skipped(pod, () if (pod.namespace, pod.name) in created else schedulers)
        if reason is None:
            queued.append(pod)
            continue
        skipped[reason] += 1
        if reason is SkipReason.ANOTHER_SCHEDULER:
            others[pod.scheduler_name] += 1
    # A controller has just created the pods in `created`, even if the pods that they replace were old.
    queued.sort(key=lambda pod: queue_order(pod, is_new=(pod.namespace, pod.name) in created))
    return Queue(tuple(queued), skipped, tuple(sorted(others, key=lambda name: (-others[name], name))))


def queue_order(pod: Pod, *, is_new: bool = False) -> tuple[object, ...]:
    """Return the sort key of the queue. A pod without a creation time is new."""
    return *rank_of(pod, is_new=is_new), pod.namespace, _parts(pod.name)


def rank_of(pod: Pod, *, is_new: bool = False) -> tuple[int, float]:
    """Return the part of the sort key that decides which pod is tried first: the pod with the smaller key."""
    return -(pod.priority or 0), inf if is_new or pod.created_at is None else pod.created_at


def by_turn(pods: Iterable[Pod]) -> list[list[Pod]]:
    """Group queued pods that are placed together: the members of a gang at the turn of its first member."""
    turns: dict[object, list[Pod]] = {}
    for pod in pods:
        gang = gang_names(pod)
        turns.setdefault((pod.namespace, *gang) if gang else pod.uid, []).append(pod)
    return list(turns.values())


def _parts(name: str) -> list[str | int]:
    # Text and numbers alternate, so text is compared with text, and numbers with numbers.
    return [int(part) if part.isdecimal() else part for part in re.split("([0-9]+)", name)]


def _skipped(pod: Pod, schedulers: Collection[str]) -> SkipReason | None:
    if pod.finished:
        return SkipReason.FINISHED
    if pod.terminating:
        return SkipReason.TERMINATING
    if pod.spec.gated:
        return SkipReason.GATED
    if schedulers and (pod.scheduler_name or DEFAULT_SCHEDULER) not in schedulers:
        return SkipReason.ANOTHER_SCHEDULER
    return None
