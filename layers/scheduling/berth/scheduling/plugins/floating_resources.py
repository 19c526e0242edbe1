"""FloatingResources: the floating pools from which the pod needs units must have enough left.

Berth adds the plugin to every profile that has ManagedResources, if the configuration has such pools. Pods on all nodes
and pods that are being bound use the pools. An eviction on any node may help, but the scheduler does not propose it.

Units that become free in a pool of the cluster or of a namespace are kept for waiting pods of a higher priority.
Otherwise a gang, or a pod with a large request, would wait forever while smaller pods come and go. A pod waits for a
pool if Berth rejected it because of the pool at its last attempt.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, Self

from berth.scheduling.framework.plugin import (
    NODE_EVENTS,
    SUCCESS,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    Code,
    Status,
)
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import (
    FLOATING_REASONS,
    NoDomain,
    beyond_capacity,
    insufficient,
    kept_for_others,
)
from berth.scheduling.managed_resources.pools import add
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotDelta, SnapshotId
from berth.scheduling.snapshot.parts import NODES_AND_PODS
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "FloatingResources"

MAX_LEVELS = 50
"""The maximum number of pools in a report: there may be thousands of namespaces and values of a label."""


class PoolLevel(NamedTuple):
    """The level of a floating pool. held: the used amount. waiting: the number of pods that wait for the pool."""

    pool: str
    capacity: int
    held: int
    waiting: int


@dataclass(frozen=True, slots=True)
class PoolUse:
    """The use of all floating pools in one snapshot. used: the used amounts by pool. waiting: by pool, the priorities
    and amounts of the pods that wait for it."""

    moment: SnapshotId
    used: Mapping[str, int]
    waiting: Mapping[str, Sequence[tuple[int, int]]]

    @classmethod
    def of(cls, counting: Counting, snapshot: Snapshot, earlier: PoolUse | None = None) -> Self:
        """Return the use in the snapshot. earlier: the use in an earlier snapshot; then only changed nodes are read."""
        delta = None if earlier is None else snapshot.history.since(earlier.moment)
        used = dict[str, int]() if earlier is None or delta is None else dict(earlier.used)
        for name, before in (dict.fromkeys(snapshot.nodes) if delta is None else delta.before).items():
            for node, sign in ((before, -1), (snapshot.nodes.get(name), 1)):
                if node is not None:
                    add(used, counting.floating.used(node.pods, node.labels), sign)
        waiting: dict[str, list[tuple[int, int]]] = {}
        for pod, number in _alike(pod for pod in snapshot.unbound.values() if pod.waits_for_pool):
            for pool, amount in counting.floating.used((pod,), {}).items():
                waiting.setdefault(pool, []).append((pod.priority or 0, number * amount))
        return cls(snapshot.history.moment, used, waiting)

    def kept(self, pool: str, priority: int) -> int:
        """Return the amount that waiting pods of a higher priority request from the pool."""
        return sum(amount for other, amount in self.waiting.get(pool, ()) if other > priority)

    def levels(self, counting: Counting, snapshot: Snapshot) -> list[PoolLevel]:
        """Return the pools of this snapshot, the fullest first, at most MAX_LEVELS."""
        pools, used = counting.floating, {pool: amount for pool, amount in self.used.items() if amount}
        of_labels = frozenset[str]().union(*(pools.of_labels(node.labels) for node in snapshot.nodes.values()))
        waiting = pools.waiting((pod for pod in snapshot.unbound.values() if pod.waits_for_pool), of_labels)
        found = [
            PoolLevel(pool, pools.capacity(pool), used.get(pool, 0), waiting.get(pool, 0))
            for pool in waiting.keys() | used.keys()
        ]
        return sorted(found, key=lambda each: (-each.held / max(1, each.capacity), -each.waiting, each))[:MAX_LEVELS]


def _alike(pods: Iterable[Pod]) -> Iterable[tuple[Pod, int]]:
    """Return one pod of each group with equal requests and namespace, and the number of pods in the group."""
    groups: dict[Hashable, tuple[Pod, int]] = {}
    for pod in pods:
        # Thousands of waiting pods share few specs, and are counted again in every snapshot.
        key = pod.spec, pod.namespace, tuple(pod.annotations.items())
        groups[key] = pod, groups.get(key, (pod, 0))[1] + 1
    return groups.values()


@dataclass(frozen=True, slots=True)
class PoolFilter(ClusterFilter):
    """The verdicts for pods of one shape, by the values of the labels that are domains. extra: the amounts of pods that
    a dry run adds or removes, by pool."""

    plugin: FloatingResources
    demands: tuple[Demand, ...]
    keys: tuple[str, ...]
    namespace: str
    priority: int
    use: PoolUse
    extra: Mapping[str, int] = field(default_factory=dict)
    verdicts: dict[tuple[str | None, ...], Status] = field(default_factory=dict, compare=False)

    @property
    def skips(self) -> bool:
        return not self.demands

    def filter(self, node: NodeInfo) -> Status:
        return self._of(tuple(map(node.labels.get, self.keys)))

    def _of(self, values: tuple[str | None, ...]) -> Status:
        status = self.verdicts.get(values)
        if status is None:
            labels = {key: value for key, value in zip(self.keys, values, strict=True) if value is not None}
            status = self.verdicts[values] = self.plugin.judge(self, labels)
        return status

    def left(self, pool: str) -> int:
        return self.plugin.counting.floating.capacity(pool) - self.use.used.get(pool, 0) - self.extra.get(pool, 0)

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[PoolFilter, Collection[str] | None]:
        later = replace(self, use=self.plugin.use_in(snapshot), verdicts={})
        is_unchanged = all(later._of(values) is status for values, status in self.verdicts.items())
        return later, () if is_unchanged else None

    def with_pod(self, pod: Pod, node: NodeInfo) -> PoolFilter:
        return self._changed(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> PoolFilter:
        return self._changed(pod, node, -1)

    def _changed(self, pod: Pod, node: NodeInfo, sign: int) -> PoolFilter:
        shares = self.plugin.counting.floating.used((pod,), node.labels)
        if not shares:
            return self
        extra = dict(self.extra)
        add(extra, shares, sign)
        return replace(self, extra=extra, verdicts={})


class FloatingResources(ClusterFilterPlugin):
    """Filters by the floating pools of the configuration."""

    name = NAME
    reasons = FLOATING_REASONS
    """All reasons that the plugin may return, for any resources."""

    reads = NODES_AND_PODS
    # bind rejects every pod whose counted resources are not free, even an exempt pod.
    applies_to_exempt_pods = True
    is_reserved = True
    events_to_register = NODE_EVENTS | {
        ClusterEvent.ASSIGNED_POD_UPDATE,
        ClusterEvent.ASSIGNED_POD_DELETE,
        ClusterEvent.POOL_WAIT_ENDED,
    }

    def __init__(self, args: None = None) -> None:
        self.counting = Counting()
        self._last: PoolUse | None = None

    def with_counting(self, counting: Counting) -> Self:
        found = type(self)()
        found.counting = counting
        return found

    def shape(self, pod: Pod) -> Hashable:
        demands = self._demands(pod)
        return (demands, pod.namespace, pod.priority or 0) if demands else None

    def _demands(self, pod: Pod) -> tuple[Demand, ...]:
        """Return the demands on floating pools; empty if a demand is unreadable: ManagedResources rejects such pods."""
        demands = self.counting.demands(pod)
        return () if isinstance(demands, UnreadableObject) else self.counting.floating.demands(demands)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        demands = self._demands(pod)
        keys = tuple(sorted(self.counting.floating.label_keys.intersection(map(self.counting.floating.scope, demands))))
        use = self.use_in(snapshot) if demands else PoolUse(snapshot.history.moment, {}, {})
        return PoolFilter(self, demands, keys, pod.namespace, pod.priority or 0, use)

    def use_in(self, snapshot: Snapshot) -> PoolUse:
        """Return the use of all pools. All shapes share it."""
        last = self._last
        if last is None or last.moment is not snapshot.history.moment:
            last = self._last = PoolUse.of(self.counting, snapshot, last)
        return last

    def judge(self, state: PoolFilter, labels: Mapping[str, str]) -> Status:
        """Return the verdict on a node with these labels."""
        shares = self.counting.floating.shares(state.demands, state.namespace, labels)
        if isinstance(shares, NoDomain):
            return _status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ReasonCode.NODE_WITHOUT_DOMAIN, shares.reason)
        beyond = [pool for pool, amount in shares.items() if amount > self.counting.floating.capacity(pool)]
        if beyond:
            code, reasons = Code.UNSCHEDULABLE_AND_UNRESOLVABLE, map(beyond_capacity, beyond)
            return _status(code, ReasonCode.REQUEST_ABOVE_POOL, *reasons)
        short = [pool for pool, amount in shares.items() if amount > state.left(pool)]
        if short:
            return _status(Code.UNSCHEDULABLE, ReasonCode.INSUFFICIENT_FLOATING_RESOURCE, *map(insufficient, short))
        kept = [
            pool for pool, amount in shares.items() if amount > state.left(pool) - state.use.kept(pool, state.priority)
        ]
        if kept:
            return _status(Code.UNSCHEDULABLE, ReasonCode.KEPT_FOR_HIGHER_PRIORITY, *map(kept_for_others, kept))
        return SUCCESS


@lru_cache(maxsize=1024)
def _status(code: Code, reason_code: ReasonCode, *reasons: str) -> Status:
    """Return one shared status for equal reasons."""
    return Status(code, reasons, NAME, (reason_code,))
