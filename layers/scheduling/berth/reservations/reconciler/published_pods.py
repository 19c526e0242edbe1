"""Who is where, as it is published: what the ledger is reconciled with.

Only what has been published counts. What a leader has merely observed, its successor may not know: it would give back
what a pod holds, because in what it loaded that pod is not on the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, PodKey, Shares
from berth.scheduling.managed_resources.counting import Counting, left
from berth.scheduling.objects import NodeInfo, Pod

NO_CAPACITY: Mapping[str, int] = MappingProxyType({})
_NOBODY: Mapping[str, Pod] = MappingProxyType({})
_FINISHED, _UNBOUND = "finished", "unbound"


@dataclass(frozen=True, slots=True)
class _Known:
    """What is kept of a pod by its key. place: a node, after a slash; or _UNBOUND or _FINISHED."""

    pod: PodKey
    place: str


class PublishedPods:
    """For one thread. It knows the nodes that have something counted, the pods that ask for it, and which pods have
    finished; of all others it keeps nothing."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._capacity: dict[str, Mapping[str, int]] = {}
        self._on: dict[str, dict[str, Pod]] = {}
        self._pods: dict[str, _Known] = {}
        self._place_of: dict[str, str] = {}

    @property
    def nodes(self) -> Set[str]:
        """Those that have something counted, or pods that ask for it."""
        return self._capacity.keys() | self._on.keys()

    def capacity(self, node: str) -> Mapping[str, int]:
        """What the node has, by pool; nothing where it is not there."""
        return self._capacity.get(node, NO_CAPACITY)

    @property
    def unbound(self) -> Sequence[PodKey]:
        """The pods that ask for something counted and are on no node."""
        return [known.pod for known in self._pods.values() if known.place == _UNBOUND]

    def settled(self, uid: str) -> bool:
        """Whether the pod is on a node, or has ended: no Binding of it can succeed any more."""
        return self._place_of.get(uid, _UNBOUND) != _UNBOUND

    def entries(self, node: str, ledger: NodeLedger | None, now: float) -> Mapping[str, Entry]:
        """By UID what the pods there hold. A pod that names no device keeps what it counts on in `ledger`, or takes
        what has the most room. now: seconds since the epoch, for those that are new."""
        pods, capacity = self._on.get(node, _NOBODY), self.capacity(node)
        held: dict[str, Shares] = {}
        unnamed: list[Pod] = []
        for uid, pod in pods.items():
            shares = self._counting.shares(pod, capacity)
            known = ledger.entries.get(uid) if ledger is not None else None
            if shares is not None:
                held[uid] = shares
            elif known is not None:
                held[uid] = known.shares
            else:
                unnamed.append(pod)
        for pod in sorted(unnamed, key=lambda each: (each.start_time or 0, each.uid)):
            held[pod.uid] = self._counting.adopted(pod, capacity, left(capacity, _sum(held)))
        return {
            uid: Entry(PodKey(pods[uid].namespace, pods[uid].name, uid), EntryState.BOUND, "", shares, now)
            for uid, shares in held.items()
            if shares
        }

    def learn(self, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None]) -> Set[str]:
        """What is published now, by key, None for what is gone. Returns the nodes whose ledger it may concern."""
        concerned = {name for name, node in nodes.items() if self._put_node(name, node)}
        for key, pod in pods.items():
            concerned |= self._put_pod(key, pod)
        return concerned

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
        now = None if pod is None else self._known(key, pod)
        before = self._pods.get(key)
        concerned = set()
        if before is not None and before != now:
            concerned |= self._forget(key, before)
        if pod is not None and now is not None:
            uid = now.pod.uid
            self._pods[key], self._place_of[uid] = now, now.place
            if node := _node(now.place):
                on = self._on.setdefault(node, {})
                if on.get(uid) != pod:
                    on[uid] = pod if pod.uid else replace(pod, uid=uid)
                    concerned.add(node)
        return concerned

    def _known(self, key: str, pod: Pod) -> _Known | None:
        # Only in a dump that was written by hand a pod has no UID.
        identity = PodKey(pod.namespace, pod.name, pod.uid or key)
        if pod.finished:
            return _Known(identity, _FINISHED)
        if not self._counting.demands(pod):
            return None
        return _Known(identity, f"/{pod.node_name}" if pod.node_name else _UNBOUND)

    def _forget(self, key: str, known: _Known) -> set[str]:
        uid = known.pod.uid
        del self._pods[key], self._place_of[uid]
        node = _node(known.place)
        if not node:
            return set()
        on = self._on[node]
        del on[uid]
        if not on:
            del self._on[node]
        return {node}


def _node(place: str) -> str:
    """Empty where it is none."""
    return place[1:] if place.startswith("/") else ""


def _sum(held: Mapping[str, Shares]) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for shares in held.values():
        for pool, amount in shares.items():
            total[pool] = total.get(pool, 0) + amount
    return total
