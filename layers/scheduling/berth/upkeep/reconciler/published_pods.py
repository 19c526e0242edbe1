"""Tracks the pods of each node and floating pool, as published in the node cache, and derives their entries.

An owner is a node or a floating pool: each has its own ledger. The pods of a node are also pods of its floating pools.

A pod's annotations can be changed by its owner at any time. So they are used only when a pod without an entry is seen.
From then on the ledger's entry decides, until the pod has ended.

A pod that is not published may still run: its object may be too large for the cache. So an absent pod may still be on
the node; see `Presence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import Shares, add, is_floating, left, limits_namespace, resource_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.claims import beyond_limit, diverging_claim, first_seen, held, uncounted


class Presence(Enum):
    """Whether a pod is on a node, as the published state proves.

    HERE: the pod is on the node, or in the pool's domain. GONE: it was deleted, has finished, or is elsewhere. UNKNOWN:
    it is not published as bound or as ended; it may still run there.
    """

    HERE = "here"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _TrackedPod:
    """A tracked pod. node: empty if the pod is not bound or has finished. resources: all resources that it has
    requested since it was first tracked."""

    key: PodKey
    node: str
    finished: bool
    resources: frozenset[str] = frozenset()

    @property
    def is_unbound(self) -> bool:
        return not self.node and not self.finished


class PublishedPods:
    """Tracks owners that have counted resources, and pods that have finished, request such resources, requested them
    before, or were found with an entry (`keep`). For one thread."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self.floats = counting.floating.exist
        self._capacity: dict[str, Mapping[str, int]] = {}
        self._pods_by_owner: dict[str, dict[str, Pod]] = {}
        """Pods on nodes by owner, then by UID. Without pods that only the API server showed."""
        self._labels: dict[str, Mapping[str, str]] = {}
        """By node, the labels whose values are domains; also of a removed node that has pods."""
        self._of_nodes = {"": counting.floating.of_cluster}
        """By node, the pools of the domains that the published node is in, and the cluster's pools."""
        self._of_namespaces: dict[str, set[str]] = {}
        """The UIDs of the pods that have not ended, by the pool of their namespace."""
        self._by_key: dict[str, _TrackedPod] = {}
        self._by_uid: dict[str, _TrackedPod] = {}
        self._ended: dict[str, set[str]] = {}
        """By owner, the UIDs of pods that have ended there, until the ledger has released their entries."""
        self._holders: dict[str, set[str]] = {}
        """The owners whose ledgers had an entry of a pod, by UID: its current requests and labels may not show them."""

    @property
    def owners(self) -> Set[str]:
        """Return the nodes and floating pools that have a counted resource, or pods that request one."""
        return set[str]().union(self._capacity, self._pods_by_owner, self._of_namespaces, *self._of_nodes.values())

    def capacity(self, owner: str) -> Mapping[str, int]:
        """Return the owner's capacity by pool; empty if there is no such owner."""
        if not is_floating(owner):
            return self._capacity.get(owner, {})
        exists = owner in self._of_namespaces or any(owner in pools for pools in self._of_nodes.values())
        amount = self._counting.floating.capacity(owner) if exists else 0
        return {owner: amount} if amount else {}

    def pools_counted_anew(self, ledger: NodeLedger) -> Set[str]:
        """Return the owner's pools of resources that its ledger does not count yet, or counts in other pools."""
        capacity = self.capacity(ledger.owner)
        anew = self._counting.at(ledger.owner).counted_anew(ledger.capacity, capacity)
        return {pool for pool in capacity if resource_of(pool) in anew}

    def counts_otherwise(self, shares: Shares, pools: Iterable[str]) -> bool:
        """Return whether a configuration without these pools may have reserved these shares."""
        return self._counting.counts_otherwise(shares, set(map(resource_of, pools)))

    def has_other_pools(self, ledger: NodeLedger) -> bool:
        """Return whether an entry holds a pool in which the pool's resource is no longer counted."""
        pools, counting = {pool for entry in ledger.entries.values() for pool in entry.shares}, self._counting
        return any(counting.at(ledger.owner).has_other_pools(pool, set(counting.resources)) for pool in pools)

    @property
    def unbound_pods(self) -> Sequence[PodKey]:
        """Return the pods that request a counted resource and are not on a node."""
        return [pod.key for pod in self._by_key.values() if pod.is_unbound]

    def has(self, uid: str) -> bool:
        """Return whether the pod is published, bound or not."""
        return uid in self._by_uid

    def is_bound_or_finished(self, uid: str) -> bool:
        """Return whether the pod is on a node or has ended: then its Bindings can no longer succeed."""
        pod = self._by_uid.get(uid)
        return pod is not None and not pod.is_unbound

    def presence(self, uid: str, owner: str) -> Presence:
        pod = self._by_uid.get(uid)
        if pod is not None and not pod.is_unbound:
            return Presence.HERE if pod.node and self._is_at(pod.key.namespace, pod.node, owner) else Presence.GONE
        return Presence.GONE if uid in self._ended.get(owner, ()) else Presence.UNKNOWN

    def _is_at(self, namespace: str, node: str, owner: str) -> bool:
        """Return whether the owner counts pods of this namespace on this node, whatever they request now."""
        if not is_floating(owner):
            return node == owner
        labels = self._labels.get(node)
        # Without the node's labels nothing proves that the pod is elsewhere.
        return labels is None or owner in self._counting.floating.of((resource_of(owner),), namespace, labels)

    def _owners(self, pod: _TrackedPod) -> set[str]:
        """Return the owners whose ledgers may have an entry of a pod on a node."""
        is_on_node = not pod.resources or not pod.resources.isdisjoint(self._counting.on_nodes)
        return {*self._floating(pod), *self._holders.get(pod.key.uid, ()), *([pod.node] if is_on_node else ())}

    def _floating(self, pod: _TrackedPod) -> frozenset[str]:
        """Return the floating pools of all resources that the pod has requested: the pools of its node and namespace,
        or only of its namespace if it is not on a node."""
        pools = self._counting.floating.of(pod.resources, pod.key.namespace, self._labels.get(pod.node, {}))
        return pools if pod.node else frozenset(filter(limits_namespace, pools))

    def entries(self, owner: str, ledger: NodeLedger | None, now: float) -> Mapping[str, Entry]:
        """Return the entries of the owner's pods, by UID. now: the time of new entries, in seconds since the epoch.

        A pod with an entry in `ledger` keeps its amounts and devices. Pods without an entry are charged by their
        annotations (`Counting.charged`): first the pods whose devices have room, so that another pod is not charged for
        the same devices.
        """
        pods, capacity, counting = self._at(owner)
        before: Mapping[str, int] = {} if ledger is None else ledger.capacity
        found = {
            uid: replace(entry, state=EntryState.BOUND, shares=held(counting, pods.get(uid), entry, before, capacity))
            for uid, entry in (ledger.entries if ledger is not None else {}).items()
            if self.presence(uid, owner) is Presence.HERE
        }
        for uid in found:
            self._holders.setdefault(uid, set()).add(owner)
        used: dict[str, int] = {}
        for entry in found.values():
            add(used, entry.shares)
        self._charge_anew(counting, found, ledger, pods, capacity, used)
        others = [pod for uid, pod in pods.items() if uid not in found]
        for uid, shares in first_seen(counting, others, capacity, used):
            found[uid] = Entry(PodKey(pods[uid].namespace, pods[uid].name, uid), EntryState.BOUND, "", shares, now)
        return {uid: entry for uid, entry in found.items() if entry.shares}

    def _at(self, owner: str) -> tuple[Mapping[str, Pod], Mapping[str, int], Counting]:
        return self._pods_by_owner.get(owner, {}), self.capacity(owner), self._counting.at(owner)

    def divergences(self, ledger: NodeLedger) -> Mapping[str, Shares]:
        """Return, by UID, the claims of the owner's bound pods that differ in amounts or devices from their entries. A
        claim is by annotations or requests; it is empty if the pod does not claim any amount, or lacks a device."""
        pods, capacity, counting = self._at(ledger.owner)
        found = {
            uid: diverging_claim(counting, pods[uid], entry, capacity)
            for uid, entry in ledger.entries.items()
            if uid in pods
        }
        return {uid: claim for uid, claim in found.items() if claim is not None}

    def beyond_limits(self, ledger: NodeLedger) -> Mapping[str, Shares]:
        """Return the pods of other schedulers whose request exceeds the limit for one pod on this node. The amounts are
        by UID and resource; 0 if the request cannot be read. A pod in the result may lack an entry in the ledger."""
        pods, capacity, counting = self._at(ledger.owner)
        found: dict[str, Shares] = {}
        for uid, pod in pods.items():
            entry = ledger.entries.get(uid)
            beyond = {} if entry is None else beyond_limit(counting, pod, entry, capacity)
            if resources := {**beyond, **uncounted(counting, pod, entry)}:
                found[uid] = resources
        return found

    def key(self, uid: str) -> PodKey:
        return self._by_uid[uid].key

    def keep(self, pod: PodKey, node: str, owners: Iterable[str]) -> None:
        """Keep a pod that the API server shows on this node, until it ends. owners: the known owners of its entries.
        The pod is not published there: its object is too large, or it no longer requests a counted resource."""
        key = f"{pod.namespace}/{pod.name}"
        known = self._by_key.get(key)
        if known is None or (known.key.uid == pod.uid and known.is_unbound):
            if known is not None:
                self._remove(key, known)
            resources = frozenset() if known is None else known.resources
            self._by_key[key] = self._by_uid[pod.uid] = kept = _TrackedPod(pod, node, False, resources)
            self._add_to_namespaces(kept)
        self._holders.setdefault(pod.uid, set()).update(owners)

    def forget_ended(self, owner: str, uids: Set[str]) -> None:
        """Forget the ended pods that are not in `uids`: the owner's ledger no longer has their entries."""
        ended = self._ended.get(owner, set()) & uids
        if ended:
            self._ended[owner] = ended
        else:
            self._ended.pop(owner, None)

    def _charge_anew(
        self,
        counting: Counting,
        entries: dict[str, Entry],
        ledger: NodeLedger | None,
        pods: Mapping[str, Pod],
        capacity: Mapping[str, int],
        used: dict[str, int],
    ) -> None:
        """Charge pods for resources that their entries lack because the configuration has changed.

        These are the resources that the ledger does not count yet; for a pod that is being confirmed, all resources,
        because the earlier configuration reserved for it. Annotations are not used in other cases: an owner can change
        them while the pod runs.
        """
        if ledger is None:
            return
        anew = counting.counted_anew(ledger.capacity, capacity)
        for uid, entry in entries.items():
            is_confirmed_now = ledger.entries[uid].state is EntryState.RESERVED
            resources = set(counting.resources) if is_confirmed_now else anew
            if not resources:
                continue
            free = left(capacity, used)
            shares = counting.charged_anew(pods.get(uid), entry.shares, resources, capacity, free)
            if shares != entry.shares:
                add(used, shares)
                add(used, entry.shares, -1)
                entries[uid] = replace(entry, shares=shares)

    def update(self, nodes: Mapping[str, NodeInfo | None], pods: Mapping[str, Pod | None]) -> Set[str]:
        """Apply a publication, by key; None for a deleted object. Return the owners whose ledger may have to change."""
        changed = set[str]()
        for name, node in nodes.items():
            changed |= self._put_node(name, node)
        for key, pod in pods.items():
            changed |= self._put_pod(key, pod)
        return changed

    def _put_node(self, name: str, node: NodeInfo | None) -> set[str]:
        changed = self._put_labels(name, node) if self.floats else set()
        capacity = {} if node is None else self._counting.capacity(node)
        if self.capacity(name) == capacity:
            return changed
        if capacity:
            self._capacity[name] = capacity
        else:
            del self._capacity[name]
        return changed | {name}

    def _put_labels(self, name: str, node: NodeInfo | None) -> set[str]:
        """Put the node and its pods into the domains of its labels. Return the pools that changed."""
        before, pods = self._of_nodes.pop(name, frozenset()), self._pods_by_owner.get(name, {})
        if node is None:
            # Pods of a deleted node may still run for a while.
            if not any(pod.node == name for pod in self._by_uid.values()):
                self._labels.pop(name, None)
            return set(before)
        labels = {key: node.labels[key] for key in self._counting.floating.label_keys if key in node.labels}
        now = self._of_nodes[name] = self._counting.floating.of_labels(labels)
        if self._labels.get(name) == labels:
            return set(before ^ now)
        for uid in pods:
            self._leave(uid, self._floating(self._by_uid[uid]))
        self._labels[name] = labels
        moved = set(before ^ now)
        for uid, pod in pods.items():
            moved |= self._arrive(uid, pod, self._floating(self._by_uid[uid]))
        return moved

    def _put_pod(self, key: str, pod: Pod | None) -> set[str]:
        now = None if pod is None else self._tracked(key, pod)
        before = self._by_key.get(key)
        changed = set()
        if before is not None and before != now:
            changed |= self._remove(key, before)
        if pod is not None and now is not None:
            uid = now.key.uid
            self._by_key[key] = self._by_uid[uid] = now
            changed |= self._add_to_namespaces(now)
            if now.node:
                found = pod if pod.uid else replace(pod, uid=uid)
                # Keep all pods under the node, to find them if its labels change.
                changed |= self._arrive(uid, found, {now.node, *self._floating(now)}) & self._owners(now)
        return changed

    def _arrive(self, uid: str, pod: Pod, owners: Iterable[str]) -> set[str]:
        """Add the pod to the owners. Return the owners where it is new, or has changed."""
        changed = set[str]()
        for owner in owners:
            pods = self._pods_by_owner.setdefault(owner, {})
            if pods.get(uid) != pod:
                pods[uid] = pod
                changed.add(owner)
        return changed

    def _leave(self, uid: str, owners: Iterable[str]) -> None:
        for owner in owners:
            pods = self._pods_by_owner.get(owner, {})
            pods.pop(uid, None)
            if not pods:
                self._pods_by_owner.pop(owner, None)

    def _add_to_namespaces(self, pod: _TrackedPod) -> set[str]:
        """Add the pod to the pools of its namespace. Return the pools that did not have a pod before."""
        pools = set() if pod.finished else set(filter(limits_namespace, self._floating(pod)))
        new = pools - self._of_namespaces.keys()
        for pool in pools:
            self._of_namespaces.setdefault(pool, set()).add(pod.key.uid)
        return new

    def _tracked(self, key: str, pod: Pod) -> _TrackedPod | None:
        # Only a pod in a hand-written dump lacks a UID.
        pod_key = PodKey(pod.namespace, pod.name, pod.uid or key)
        if pod.finished:
            return _TrackedPod(pod_key, "", finished=True)
        before = self._by_key.get(key)
        if before is not None and before.key == pod_key and not before.finished:
            # The pod may have an entry, so its current annotations do not matter. A pod never changes its node.
            resources = before.resources | self._counting.requested(pod)
            return _TrackedPod(pod_key, before.node or pod.node_name, False, resources)
        if not self._counting.demands(pod):
            return None
        return _TrackedPod(pod_key, pod.node_name, False, self._counting.requested(pod))

    def _remove(self, key: str, pod: _TrackedPod) -> set[str]:
        uid, changed = pod.key.uid, set[str]()
        del self._by_key[key], self._by_uid[uid]
        for pool in filter(limits_namespace, self._floating(pod)):
            uids = self._of_namespaces.get(pool, set())
            uids.discard(uid)
            if not uids and self._of_namespaces.pop(pool, None) is not None:
                changed.add(pool)
        if not pod.node:
            return changed
        owners = self._owners(pod)
        self._holders.pop(uid, None)
        for owner in owners:
            self._ended.setdefault(owner, set()).add(uid)
        self._leave(uid, {pod.node, *owners})
        return changed | owners
