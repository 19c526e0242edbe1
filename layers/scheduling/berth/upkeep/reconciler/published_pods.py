"""Tracks the pods on each node, as published in the node cache, and derives their entries in the ledger.

A pod's annotations can be changed by its owner at any time. So they are used once, when a pod without an entry is seen.
From then on the ledger's entry decides, until the pod has ended.

A pod that is not published may still run: its object may be too large for the cache. So an absent pod may still be on
the node; see `Presence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, Shares
from berth.scheduling.managed_resources.configuration import resource_of
from berth.scheduling.managed_resources.counting import Counting, left
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod import PodKey


def diverging_claim(counting: Counting, pod: Pod, entry: Entry, capacity: Mapping[str, int]) -> Shares | None:
    """Return the amounts or devices that the pod claims, if they differ from its entry; empty if it claims nothing, or
    no device. None: they agree, or the pod is not confirmed yet. capacity: the node's."""
    if entry.state is not EntryState.BOUND:
        return None
    claimed = counting.shares(pod, capacity)
    held = {pool: amount for pool, amount in entry.shares.items() if resource_of(pool) in counting.resources}
    if claimed is None:
        # Other schedulers do not name devices.
        return {} if entry.attempt and not counting.names_devices(pod) else None
    if dict(claimed) == held:
        return None
    beyond = beyond_limit(counting, pod, entry, capacity)
    return None if _without(claimed, beyond) == _without(held, beyond) else claimed


def beyond_limit(counting: Counting, pod: Pod, entry: Entry, capacity: Mapping[str, int]) -> Shares:
    """Return the resources of which a pod that others bound requests more than a pod is charged, with that amount."""
    # Amounts that Berth reserved are counted as a whole.
    return {} if entry.attempt or entry.state is not EntryState.BOUND else counting.beyond_limit(pod, capacity)


def uncounted(counting: Counting, pod: Pod, entry: Entry | None) -> Shares:
    """Return the resources that a pod bound by others is not charged for, because no request of them can be read."""
    if entry is None:
        return dict.fromkeys(counting.uncounted(pod), 0)
    if entry.attempt or entry.state is not EntryState.BOUND:
        return {}
    # Amounts that were charged before the request became unreadable stay.
    return dict.fromkeys(counting.uncounted(pod) - set(map(resource_of, entry.shares)), 0)


def _without(shares: Shares, resources: Shares) -> Shares:
    return {pool: amount for pool, amount in shares.items() if resource_of(pool) not in resources}


class Presence(Enum):
    """Proof of the published state that a pod is on a node.

    HERE: the pod is on the node. GONE: it was deleted, has finished, or is on another node. UNKNOWN: it is not
    published as bound or as ended; it may run there nevertheless.
    """

    HERE = "here"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _TrackedPod:
    """A pod that is kept. node: empty if the pod is not bound or has finished."""

    key: PodKey
    node: str
    finished: bool

    @property
    def is_unbound(self) -> bool:
        return not self.node and not self.finished


class PublishedPods:
    """Keep the nodes with counted resources, finished pods, and the pods that request such resources, did so before, or
    were found with an entry (`keep`). For one thread.

    Other pods are not kept.
    """

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._capacity: dict[str, Mapping[str, int]] = {}
        self._pods_by_node: dict[str, dict[str, Pod]] = {}
        """Pods by node, then by UID. Pods that only the API server showed are missing."""
        self._by_key: dict[str, _TrackedPod] = {}
        self._by_uid: dict[str, _TrackedPod] = {}
        self._ended: dict[str, set[str]] = {}
        """UIDs of pods that were on the node and have ended, until the ledger agrees; by node."""

    @property
    def nodes(self) -> Set[str]:
        """Return the nodes that have a counted resource, or pods that request one."""
        return self._capacity.keys() | self._pods_by_node.keys()

    def capacity(self, node: str) -> Mapping[str, int]:
        """Return the node's capacity by pool; empty if there is no such node."""
        return self._capacity.get(node, {})

    def pools_counted_anew(self, ledger: NodeLedger) -> Set[str]:
        """Return the node's pools of resources that its ledger does not count yet, or counts with other pools."""
        capacity = self.capacity(ledger.node)
        anew = self._counting.counted_anew(ledger.capacity, capacity)
        return {pool for pool in capacity if resource_of(pool) in anew}

    def has_other_pools(self, ledger: NodeLedger) -> bool:
        """Return whether an entry holds pools in which its resource is not counted any more."""
        pools = {pool for entry in ledger.entries.values() for pool in entry.shares}
        return any(self._counting.has_other_pools(pool, set(self._counting.resources)) for pool in pools)

    @property
    def unbound_pods(self) -> Sequence[PodKey]:
        """Return the pods that request a counted resource and are not on a node."""
        return [pod.key for pod in self._by_key.values() if pod.is_unbound]

    def has(self, uid: str) -> bool:
        """Return whether the pod is published, bound or not."""
        return uid in self._by_uid

    def is_bound_or_finished(self, uid: str) -> bool:
        """Return whether the pod is on a node or has ended: then no Binding of it can succeed any more."""
        pod = self._by_uid.get(uid)
        return pod is not None and not pod.is_unbound

    def presence(self, uid: str, node: str) -> Presence:
        pod = self._by_uid.get(uid)
        if pod is not None and not pod.is_unbound:
            return Presence.HERE if pod.node == node else Presence.GONE
        return Presence.GONE if uid in self._ended.get(node, ()) else Presence.UNKNOWN

    def entries(self, node: str, ledger: NodeLedger | None, now: float) -> Mapping[str, Entry]:
        """Return the entries of the pods on the node, by UID. now: `since` of new entries, seconds since the epoch.

        A pod with an entry in `ledger` keeps its amounts and devices. The others are charged by their annotations, as
        `Counting.charged` says: first the pods whose devices have room, so that no other pod is charged for these.
        """
        pods, capacity = self._pods_by_node.get(node, {}), self.capacity(node)
        before: Mapping[str, int] = {} if ledger is None else ledger.capacity
        found = {
            uid: replace(entry, state=EntryState.BOUND, shares=self._held(pods.get(uid), entry, before, capacity))
            for uid, entry in (ledger.entries if ledger is not None else {}).items()
            if self.presence(uid, node) is Presence.HERE
        }
        used = _total(entry.shares for entry in found.values())
        self._charge_anew(found, ledger, pods, capacity, used)
        for uid, shares in self._first_seen([pod for uid, pod in pods.items() if uid not in found], capacity, used):
            found[uid] = Entry(PodKey(pods[uid].namespace, pods[uid].name, uid), EntryState.BOUND, "", shares, now)
        return {uid: entry for uid, entry in found.items() if entry.shares}

    def divergences(self, ledger: NodeLedger) -> Mapping[str, Shares]:
        """Return the node's bound pods whose annotations or requests claim other amounts or devices than their entries.

        The claims are by UID; a claim is empty if the pod claims nothing, or no device.
        """
        pods, capacity = self._pods_by_node.get(ledger.node, {}), self.capacity(ledger.node)
        found = {
            uid: diverging_claim(self._counting, pods[uid], entry, capacity)
            for uid, entry in ledger.entries.items()
            if uid in pods
        }
        return {uid: claim for uid, claim in found.items() if claim is not None}

    def beyond_limits(self, ledger: NodeLedger) -> Mapping[str, Shares]:
        """Return the pods that others bound to the node, and that request more than one pod is charged there at most.

        The amounts are by UID and resource: 0 if the request cannot be read. A pod that is charged nothing at all does
        not have an entry.
        """
        pods, capacity = self._pods_by_node.get(ledger.node, {}), self.capacity(ledger.node)
        found: dict[str, Shares] = {}
        for uid, pod in pods.items():
            entry = ledger.entries.get(uid)
            beyond = {} if entry is None else beyond_limit(self._counting, pod, entry, capacity)
            if resources := {**beyond, **uncounted(self._counting, pod, entry)}:
                found[uid] = resources
        return found

    def key(self, uid: str) -> PodKey:
        return self._by_uid[uid].key

    def keep(self, pod: PodKey, node: str) -> None:
        """Track a pod that the API server shows on this node, until it ends.

        The pod is not published there: its object is too large, or it no longer requests a counted resource.
        """
        key = f"{pod.namespace}/{pod.name}"
        known = self._by_key.get(key)
        if known is None or (known.key.uid == pod.uid and known.is_unbound):
            self._by_key[key] = self._by_uid[pod.uid] = _TrackedPod(pod, node, finished=False)

    def forget_ended(self, node: str, uids: Set[str]) -> None:
        """Forget the other pods that have ended: the ledger of the node has entries of these pods only."""
        ended = self._ended.get(node, set()) & uids
        if ended:
            self._ended[node] = ended
        else:
            self._ended.pop(node, None)

    def _held(self, pod: Pod | None, entry: Entry, before: Mapping[str, int], capacity: Mapping[str, int]) -> Shares:
        """Return the shares of the pod. before: the capacity in the ledger; capacity: the published one."""
        if pod is None:
            return entry.shares
        shares = entry.shares
        if not entry.attempt:
            shares = self._counting.charged_after_growth(pod, shares, before, capacity)
        return self._counting.resized(pod, shares, capacity)

    def _charge_anew(
        self,
        entries: dict[str, Entry],
        ledger: NodeLedger | None,
        pods: Mapping[str, Pod],
        capacity: Mapping[str, int],
        used: dict[str, int],
    ) -> None:
        """Charge pods with an entry for resources that the entry lacks: the configuration has changed since.

        These are the resources that the ledger does not count yet; for a pod that is being confirmed, all resources:
        it was reserved by the earlier configuration. Only then: an owner can change the annotations of a running pod.
        """
        if ledger is None:
            return
        anew = self._counting.counted_anew(ledger.capacity, capacity)
        for uid, entry in entries.items():
            is_confirmed_now = ledger.entries[uid].state is EntryState.RESERVED
            resources = set(self._counting.resources) if is_confirmed_now else anew
            if not resources:
                continue
            free = left(capacity, used)
            shares = self._counting.charged_anew(pods.get(uid), entry.shares, resources, capacity, free)
            if shares != entry.shares:
                for pool in {*shares, *entry.shares}:
                    used[pool] = used.get(pool, 0) + shares.get(pool, 0) - entry.shares.get(pool, 0)
                entries[uid] = replace(entry, shares=shares)

    def _first_seen(
        self, pods: Sequence[Pod], capacity: Mapping[str, int], used: dict[str, int]
    ) -> Iterator[tuple[str, Shares]]:
        """Yield the charges of pods without an entry, by UID. used: the amounts charged so far; it grows."""
        later: list[Pod] = []
        for pod in sorted(pods, key=lambda each: (each.start_time or 0, each.uid)):
            if self._counting.has_room_as_annotated(pod, capacity, left(capacity, used)):
                yield pod.uid, self._charge(pod, capacity, used)
            else:
                later.append(pod)
        # Pods that name a device without room come last: they are charged to the device that is fullest then.
        for pod in sorted(later, key=self._counting.names_devices):
            yield pod.uid, self._charge(pod, capacity, used)

    def _charge(self, pod: Pod, capacity: Mapping[str, int], used: dict[str, int]) -> Shares:
        shares = self._counting.charged(pod, capacity, left(capacity, used))
        for pool, amount in shares.items():
            used[pool] = used.get(pool, 0) + amount
        return shares

    def update(self, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None]) -> Set[str]:
        """Apply a publication, by key; None for a deleted object. Return the nodes whose ledger may have to change."""
        changed = {name for name, node in nodes.items() if self._put_node(name, node)}
        for key, pod in pods.items():
            changed |= self._put_pod(key, pod)
        return changed

    def _put_node(self, name: str, node: NodeInfo | None) -> bool:
        capacity = {} if node is None else self._counting.capacity(node)
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
        # Only a pod in a hand-written dump lacks a UID.
        pod_key = PodKey(pod.namespace, pod.name, pod.uid or key)
        if pod.finished:
            return _TrackedPod(pod_key, "", finished=True)
        before = self._by_key.get(key)
        if before is not None and before.key == pod_key and not before.finished:
            # It may have an entry, so its present annotations do not matter. A pod never leaves its node.
            return _TrackedPod(pod_key, before.node or pod.node_name, finished=False)
        if not self._counting.demands(pod):
            return None
        return _TrackedPod(pod_key, pod.node_name, finished=False)

    def _remove(self, key: str, pod: _TrackedPod) -> set[str]:
        uid = pod.key.uid
        del self._by_key[key], self._by_uid[uid]
        if not pod.node:
            return set()
        self._ended.setdefault(pod.node, set()).add(uid)
        on_node = self._pods_by_node.get(pod.node, {})
        on_node.pop(uid, None)
        if not on_node:
            self._pods_by_node.pop(pod.node, None)
        return {pod.node}


def _total(held: Iterable[Shares]) -> dict[str, int]:
    total: dict[str, int] = {}
    for shares in held:
        for pool, amount in shares.items():
            total[pool] = total.get(pool, 0) + amount
    return total
