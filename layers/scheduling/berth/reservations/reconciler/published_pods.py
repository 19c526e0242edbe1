"""Which pods are on which node, as published in the node cache. The reconciler brings the ledger to this state.

Only published state counts. A leader may have observed more than it has published, and its successor does not know
that: it would release the entries of pods that are not on the node in what it loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, PodKey, Shares
from berth.scheduling.managed_resources.counting import Counting, left
from berth.scheduling.objects import NodeInfo, Pod

NO_CAPACITY: Mapping[str, int] = MappingProxyType({})
_NO_PODS: Mapping[str, Pod] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _TrackedPod:
    """node: empty for a pod that is not bound, and for one that has finished."""

    key: PodKey
    node: str
    finished: bool

    @property
    def is_unbound(self) -> bool:
        return not self.node and not self.finished


class PublishedPods:
    """For one thread. It keeps the nodes with counted resources, the pods that request them, and finished pods.

    It keeps nothing of other pods.
    """

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._capacity: dict[str, Mapping[str, int]] = {}
        self._pods_by_node: dict[str, dict[str, Pod]] = {}
        """By node, then by UID."""
        self._by_key: dict[str, _TrackedPod] = {}
        self._by_uid: dict[str, _TrackedPod] = {}

    @property
    def nodes(self) -> Set[str]:
        """The nodes that have a counted resource, or pods that request one."""
        return self._capacity.keys() | self._pods_by_node.keys()

    def capacity(self, node: str) -> Mapping[str, int]:
        """The node's capacity by pool; empty if there is no such node."""
        return self._capacity.get(node, NO_CAPACITY)

    @property
    def unbound_pods(self) -> Sequence[PodKey]:
        """The pods that request a counted resource and are on no node."""
        return [pod.key for pod in self._by_key.values() if pod.is_unbound]

    def is_bound_or_finished(self, uid: str) -> bool:
        """Whether the pod is on a node or has ended: then no Binding of it can succeed any more."""
        pod = self._by_uid.get(uid)
        return pod is not None and not pod.is_unbound

    def entries(self, node: str, ledger: NodeLedger | None, now: float) -> Mapping[str, Entry]:
        """What the pods on the node hold, by UID. now: `since` of new entries, seconds since the epoch.

        A pod without a device annotation keeps the devices of its entry in `ledger`, or gets those with the most room.
        """
        pods, capacity = self._pods_by_node.get(node, _NO_PODS), self.capacity(node)
        held: dict[str, Shares] = {}
        without_device: list[Pod] = []
        for uid, pod in pods.items():
            shares = self._counting.shares(pod, capacity)
            known = ledger.entries.get(uid) if ledger is not None else None
            if shares is not None:
                held[uid] = shares
            elif known is not None:
                held[uid] = known.shares
            else:
                without_device.append(pod)
        for pod in sorted(without_device, key=lambda each: (each.start_time or 0, each.uid)):
            held[pod.uid] = self._counting.adopted(pod, capacity, left(capacity, _total(held)))
        return {
            uid: Entry(PodKey(pods[uid].namespace, pods[uid].name, uid), EntryState.BOUND, "", shares, now)
            for uid, shares in held.items()
            if shares
        }

    def update(self, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None]) -> Set[str]:
        """Apply a publication, by key; None for a deleted object. Returns the nodes whose ledger may have to change."""
        changed = {name for name, node in nodes.items() if self._put_node(name, node)}
        for key, pod in pods.items():
            changed |= self._put_pod(key, pod)
        return changed

    def _put_node(self, name: str, node: NodeInfo | None) -> bool:
        capacity = NO_CAPACITY if node is None else self._counting.capacity(node)
        if self.capacity(name) == capacity:
            return False
        if capacity:
            self._capacity[name] = capacity
        else:
            del self._capacity[name]
        return True

    def _put_pod(self, key: str, pod: Pod | None) -> set[str]:
        now = None if pod is None else self._tracked(key, pod)
        before = self._by_key.get(key)
        changed = set()
        if before is not None and before != now:
            changed |= self._remove(key, before)
        if pod is not None and now is not None:
            uid = now.key.uid
            self._by_key[key] = self._by_uid[uid] = now
            if now.node:
                on_node = self._pods_by_node.setdefault(now.node, {})
                if on_node.get(uid) != pod:
                    on_node[uid] = pod if pod.uid else replace(pod, uid=uid)
                    changed.add(now.node)
        return changed

    def _tracked(self, key: str, pod: Pod) -> _TrackedPod | None:
        # Only in a hand-written dump a pod has no UID.
        pod_key = PodKey(pod.namespace, pod.name, pod.uid or key)
        if pod.finished:
            return _TrackedPod(pod_key, "", finished=True)
        if not self._counting.demands(pod):
            return None
        return _TrackedPod(pod_key, pod.node_name, finished=False)

    def _remove(self, key: str, pod: _TrackedPod) -> set[str]:
        uid = pod.key.uid
        del self._by_key[key], self._by_uid[uid]
        if not pod.node:
            return set()
        on_node = self._pods_by_node[pod.node]
        del on_node[uid]
        if not on_node:
            del self._pods_by_node[pod.node]
        return {pod.node}


def _total(held: Mapping[str, Shares]) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for shares in held.values():
        for pool, amount in shares.items():
            total[pool] = total.get(pool, 0) + amount
    return total
