"""Computes the demands and the shares of pods, the capacity of nodes, and the pools from which demands are met.

The results depend only on the configuration and the arguments, so filter, bind and the watcher count in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from copy import copy
from typing import Self

from berth.scheduling.managed_resources.configuration import ManagedResource, NoAmount, Packing, capacity_of
from berth.scheduling.managed_resources.demand import REASON_LIMIT, Demand, DemandReader, UnreadableRequest
from berth.scheduling.managed_resources.floating import FloatingPools, Insufficient
from berth.scheduling.managed_resources.pools import (
    NAMESPACE,
    Shares,
    add,
    annotation_of,
    device_of,
    devices_in,
    domain_of,
    index_in,
    is_floating,
    left,
    pool_of,
    resource_of,
)
from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import Pod
from berth.scheduling.reason_code import ReasonCode


class Counting:
    """Counts the resources of one configuration on nodes. Thread-safe. `at` returns an object that counts a floating
    pool in the same way."""

    def __init__(self, resources: Iterable[ManagedResource] = ()) -> None:
        self._all = {each.name: each for each in resources}
        self._resources = {name: each for name, each in self._all.items() if not each.is_floating}
        """The resources that this object counts."""
        self._pool_name = ""
        """The floating pool that this object counts; empty for nodes."""
        self._demands = DemandReader(self._all.values())
        self._limits = {each.name: each.pod_limit for each in self._all.values() if each.pod_limit is not None}
        self._views: dict[str, Self] = {}
        self.floating = FloatingPools(self._all, self._demands, self._limits)

    @property
    def counts(self) -> bool:
        return bool(self._all)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources of the configuration, counted on nodes or in floating pools."""
        return tuple(self._all)

    @property
    def on_nodes(self) -> tuple[str, ...]:
        """The resources that are counted on nodes."""
        return tuple(name for name, each in self._all.items() if not each.is_floating)

    def at(self, owner: str) -> Self:
        """Return the object that counts for this owner in the ledger: a node, or a floating pool."""
        if not is_floating(owner):
            return self
        if (view := self._views.get(owner)) is None:
            view = copy(self)
            resource = self._all.get(resource_of(owner))
            view._resources = {} if resource is None else {resource.name: resource.model_copy(update={"devices": None})}
            view._pool_name = owner
            self._views[owner] = view
        return view

    def node_demands(self, demands: tuple[Demand, ...]) -> tuple[Demand, ...]:
        """Return the demands that are counted on the node."""
        return tuple(demand for demand in demands if not self._all[demand.resource].is_floating)

    @property
    def ignored_by_scheduler(self) -> frozenset[str]:
        """The resource names in requests that NodeResourcesFit does not check."""
        return frozenset(
            name
            for each in self._all.values()
            for name in each.names
            # A node's allocatable does not have percentages.
            if each.ignored_by_scheduler or name != each.name
        )

    @property
    def pod_annotations(self) -> frozenset[str]:
        """The annotations that are read from pods."""
        devices = {annotation_of(each.name) for each in self._all.values() if each.devices is not None}
        return frozenset(devices.union(self._demands.annotations))

    @property
    def node_annotations(self) -> frozenset[str]:
        """The annotations that are read from nodes."""
        found = (source.node_annotation for each in self._resources.values() for source in each.sources)
        return frozenset(key for key in found if key is not None)

    def demands(self, pod: Pod) -> tuple[Demand, ...] | UnreadableRequest:
        """Return the demands of a waiting pod; empty without counted resources. A demand above its podLimit is
        unreadable. One unreadable request makes the result unreadable: a pod is placed with all its requests or not at
        all."""
        found = self._demands.read(pod)
        if found.unreadable:
            return next(iter(found.unreadable.values()))
        for demand in found.readable:
            if demand.amount > self._limits.get(demand.resource, demand.amount):
                return UnreadableRequest(REASON_LIMIT.format(demand.resource), ReasonCode.REQUEST_ABOVE_POD_LIMIT)
        return found.readable

    def uncounted(self, pod: Pod) -> Set[str]:
        """Return the resources that are not counted for a pod on a node, because their requests cannot be read."""
        return self._demands.read(pod).uncounted & self._resources.keys()

    def requested(self, pod: Pod) -> frozenset[str]:
        """Return the resources that the pod requests, as far as its requests can be read."""
        return frozenset(demand.resource for demand in self._demands.read(pod).readable)

    def capacity(self, node: NodeInfo) -> Mapping[str, int]:
        """Return the node's capacity by pool, without zeros and without resources that cannot be read."""
        found: dict[str, int] = {}
        for each in self._resources.values():
            capacity = capacity_of(each, node)
            if not isinstance(capacity, NoAmount):
                found |= capacity
        return found

    def unreadable(self, node: NodeInfo) -> Mapping[str, str]:
        """Return the resources whose capacity cannot be read, with the cause."""
        found = {name: capacity_of(each, node) for name, each in self._resources.items()}
        return {name: capacity.cause for name, capacity in found.items() if isinstance(capacity, NoAmount)}

    def pools(self, resource: str, capacity: Mapping[str, int]) -> list[str]:
        """Return the pools of the resource, ordered by device, because a mapping from a table is not ordered."""
        if not self._has_devices(resource):
            pool = self._plain_pool(resource)
            return [pool] if pool in capacity else []
        found = [(device[1], pool) for pool in capacity if (device := device_of(pool)) and device[0] == resource]
        return [pool for _, pool in sorted(found)]

    def shares(self, pod: Pod, capacity: Mapping[str, int]) -> Shares | None:
        """Return the amounts that a pod uses on a node of this capacity, on the devices that its annotations name.
        Return None if a device is unknown, for example because another component bound the pod (see `adopted`)."""
        if pod.assumed_shares is not None:
            return pod.assumed_shares
        found: dict[str, int] = {}
        for demand in self._demands_of_placed(pod):
            pool = self._pool(pod, demand, capacity)
            if pool is None:
                return None
            if amount := demand.of(capacity.get(pool, 0)):
                found[pool] = amount
        return found

    def adopted(self, pod: Pod, capacity: Mapping[str, int], free: Mapping[str, int]) -> Shares:
        """Return the amounts, by pool, that count for a pod on the node, even above the capacity. If its annotations do
        not name a device, the amounts count on the device with the most room."""
        if pod.assumed_shares is not None:
            return pod.assumed_shares
        found: dict[str, int] = {}
        for demand in self._demands_of_placed(pod):
            pool = self._pool(pod, demand, capacity) or max(
                self.pools(demand.resource, capacity), key=lambda each: free.get(each, 0), default=None
            )
            # If the node does not have devices, use device 0.
            pool = pool or pool_of(demand.resource, 0)
            if amount := demand.of(capacity.get(pool, 0)):
                found[pool] = amount
        return found

    def has_room_as_annotated(self, pod: Pod, capacity: Mapping[str, int], free: Mapping[str, int]) -> bool:
        """Return whether the pod's annotations name its devices, and the node has these devices with room for it."""
        shares = self.shares(pod, capacity)
        return shares is not None and all(
            amount <= free.get(pool, 0) for pool, amount in shares.items() if device_of(pool) is not None
        )

    def names_devices(self, pod: Pod) -> bool:
        """Return whether the pod's annotations name a device for each demand of a resource with devices."""
        return all(
            index_in(pod.annotations.get(annotation_of(demand.resource))) is not None
            for demand in self._demands_of_placed(pod)
            if self._has_devices(demand.resource)
        )

    def charged(self, pod: Pod, capacity: Mapping[str, int], free: Mapping[str, int]) -> Shares:
        """Return the amounts to charge for a pod without a reservation. Its annotations may be forged.

        If the named device does not exist on the node, or does not have enough room, the fullest device is charged
        instead. So a forged number cannot block a device with room. If the pod does not name a device, the device with
        the most room is charged. The charge is at most the podLimit and the capacity of the pool: a forged amount
        cannot charge more than the node has. A resource that the node does not have is not charged.
        """
        found: dict[str, int] = {}
        for demand in self._demands_of_placed(pod):
            pool = self._charged_pool(pod, demand, capacity, free)
            if pool is not None and (amount := self._charged_amount(demand, capacity.get(pool, 0))):
                found[pool] = amount
        return found

    def charged_after_growth(self, pod: Pod, held: Shares, before: Mapping[str, int], now: Mapping[str, int]) -> Shares:
        """Raise the charge of a pod that was charged a whole pool, if the pool is larger now: the pod may request more.
        held: the charge so far. before, now: the node's capacity then and now."""
        found = dict(held)
        for demand in self._demands_of_placed(pod):
            if demand.percent:
                continue
            for pool, amount in held.items():
                if resource_of(pool) == demand.resource and amount >= before.get(pool, amount + 1):
                    found[pool] = max(amount, self._charged_amount(demand, now.get(pool, 0)))
        return found

    def counted_anew(self, before: Mapping[str, int], now: Mapping[str, int]) -> Set[str]:
        """Return the resources that begin to be counted on a node: its ledger does not have them yet, or has them in
        the other form (with devices or without). before, now: the capacity in the ledger, and the current capacity."""
        return {name for name in self._resources if self.pools(name, now) and not self.pools(name, before)}

    def counts_otherwise(self, shares: Shares, resources: Set[str]) -> bool:
        """Return whether the shares may have been reserved under another configuration: for one of these resources,
        they have no pool, or pools of other domains than the current configuration."""
        for name in resources & self._all.keys():
            each = self._all[name]
            expected = {each.scope if each.is_floating else ""} | ({NAMESPACE} if each.per_namespace else set())
            if expected != {domain_of(pool).partition("=")[0] for pool in shares if resource_of(pool) == name}:
                return True
        return False

    def has_other_pools(self, pool: str, resources: Set[str]) -> bool:
        """Return whether a pool of these resources is a device but the resource lacks devices, or the reverse."""
        resource = resource_of(pool)
        if resource not in resources or resource not in self._resources:
            return False
        return (device_of(pool) is not None) != self._has_devices(resource)

    def charged_anew(
        self, pod: Pod | None, held: Shares, resources: Set[str], capacity: Mapping[str, int], free: Mapping[str, int]
    ) -> Shares:
        """Return the shares of a pod that was bound when these resources were counted in another way. The pod keeps its
        amounts, in the current pools: first on the device that `charged` returns, then on other devices."""
        found = {pool: amount for pool, amount in held.items() if not self.has_other_pools(pool, resources)}
        missing = (resources & self._resources.keys()) - set(map(resource_of, found))
        charged = {} if pod is None else self.charged(pod, capacity, free)
        for resource in missing:
            pools = self.pools(resource, capacity)
            pools.sort(key=lambda pool: (pool in charged, free.get(pool, 0)), reverse=True)
            amounts = [amount for pool, amount in held.items() if resource_of(pool) == resource]
            amount = max(sum(amounts), sum(charged.get(pool, 0) for pool in pools))
            for pool in pools:
                found[pool] = min(amount, max(free.get(pool, 0), charged.get(pool, 0)))
                amount -= found[pool]
            if pools:
                found[pools[0]] += amount
        return {pool: amount for pool, amount in found.items() if amount}

    def beyond_limit(self, pod: Pod, capacity: Mapping[str, int]) -> Mapping[str, int]:
        """Return, by resource, the largest amount that can be charged to the pod, if its request is larger."""
        found = {}
        for demand in self._demands_of_placed(pod):
            largest = max((capacity[pool] for pool in self.pools(demand.resource, capacity)), default=0)
            charged = self._charged_amount(demand, largest)
            if charged < demand.of(largest):
                found[demand.resource] = charged
        return found

    def _charged_amount(self, demand: Demand, capacity: int) -> int:
        return min(demand.of(capacity), capacity, self._limits.get(demand.resource, capacity))

    def _charged_pool(
        self, pod: Pod, demand: Demand, capacity: Mapping[str, int], free: Mapping[str, int]
    ) -> str | None:
        if not self._has_devices(demand.resource):
            return self._plain_pool(demand.resource)
        pools = self.pools(demand.resource, capacity)
        index = index_in(pod.annotations.get(annotation_of(demand.resource)))
        if index is None:
            return max(pools, key=lambda each: free.get(each, 0), default=None)
        named = pool_of(demand.resource, index)
        if named in pools and self._charged_amount(demand, capacity[named]) <= free.get(named, 0):
            return named
        return min(pools, key=lambda each: free.get(each, 0), default=None)

    def resized(self, pod: Pod, held: Shares, capacity: Mapping[str, int]) -> Shares:
        """Return the shares after a change of the capacity. Devices stay the same; percentages refer to their current
        size."""
        found = dict(held)
        for demand in self._demands_of_placed(pod):
            if demand.percent:
                own = [pool for pool in held if (device_of(pool) or ("", 0))[0] == demand.resource]
                found |= {pool: amount for pool in own if (amount := demand.of(capacity.get(pool, 0)))}
        return found

    def used(self, pods: Iterable[Pod], capacity: Mapping[str, int]) -> Mapping[str, int]:
        """Return, by pool, the sum of the amounts of a node's pods; for each pod at most the podLimit."""
        used: dict[str, int] = {}
        unplaced, asked, annotated = list[Pod](), self._demands.requests, bool(self._demands.annotations)
        for pod in pods:
            if asked.isdisjoint(pod.spec.requests.asked) and pod.assumed_shares is None and not annotated:
                # Most pods do not request counted resources, and a shape's first call reads every pod.
                continue
            shares = self.shares(pod, capacity)
            if shares is None:
                unplaced.append(pod)
            elif shares:
                add(used, self._limited(shares))
        # Count pods whose devices are unknown last, in a fixed order.
        for pod in sorted(unplaced, key=lambda each: (each.start_time or 0, each.uid)):
            add(used, self._limited(self.adopted(pod, capacity, left(capacity, used))))
        return used

    def _limited(self, shares: Shares) -> Shares:
        if not self._limits:
            return shares
        return {pool: min(amount, self._limits.get(resource_of(pool), amount)) for pool, amount in shares.items()}

    def choose(
        self, demands: Sequence[Demand], capacity: Mapping[str, int], free: Mapping[str, int]
    ) -> Shares | Insufficient:
        """Choose pools with room for all the demands, or return the resources that are short."""
        found: dict[str, int] = {}
        short = []
        never = False
        for demand in demands:
            if demand.resource not in self._resources:
                continue
            pool = self._fitting(demand, capacity, free)
            if pool is None:
                short.append(demand.resource)
                never = never or self._fitting(demand, capacity, capacity) is None
            else:
                found[pool] = demand.of(capacity.get(pool, 0))
        return Insufficient(tuple(short), never) if short else found

    def placed(self, demands: Sequence[Demand], node: NodeInfo) -> Shares | Insufficient:
        """Choose pools for the demands in the room that the node's pods leave, or return the resources that are
        short."""
        capacity = self.capacity(node)
        free = left(capacity, self.used(node.pods, capacity)) if capacity and node.pods else capacity
        return self.choose(demands, capacity, free)

    def annotations(self, shares: Shares) -> Mapping[str, str]:
        """Return the annotations of the Binding: for each resource with devices, the index of the pod's device."""
        return {annotation_of(resource): str(index) for resource, index in devices_in(shares).items()}

    def _has_devices(self, resource: str) -> bool:
        return self._resources[resource].devices is not None

    def _plain_pool(self, resource: str) -> str:
        """Return the pool of a resource without devices."""
        return self._pool_name or resource

    def _demands_of_placed(self, pod: Pod) -> tuple[Demand, ...]:
        """Return the demands that this object counts for a pod on a node, even above their podLimit. A request that
        cannot be read is ignored: it must not hide other requests of a pod bound without Berth."""
        found = self._demands.read(pod).readable
        return tuple(demand for demand in found if demand.resource in self._resources) if self.floating.exist else found

    def _pool(self, pod: Pod, demand: Demand, capacity: Mapping[str, int]) -> str | None:
        """Return the pool from which this demand of the pod is met; None if it is unknown. The pool is also unknown if
        the pod requests a percentage of a device that the node lacks."""
        if not self._has_devices(demand.resource):
            return self._plain_pool(demand.resource)
        index = index_in(pod.annotations.get(annotation_of(demand.resource)))
        if index is None:
            return None
        pool = pool_of(demand.resource, index)
        return None if demand.percent and pool not in capacity else pool

    def _fitting(self, demand: Demand, capacity: Mapping[str, int], free: Mapping[str, int]) -> str | None:
        devices = self._resources[demand.resource].devices
        if devices is None:
            pool = self._plain_pool(demand.resource)
            return pool if demand.amount <= free.get(pool, 0) else None
        rooms = [
            (free.get(pool, 0), pool)
            for pool in self.pools(demand.resource, capacity)
            if demand.of(capacity[pool]) <= free.get(pool, 0)
        ]
        # Ties go to the device with the lowest index.
        if devices.packing is Packing.BEST_FIT:
            return min(rooms, key=lambda room: room[0], default=(0, None))[1]
        return max(rooms, key=lambda room: room[0], default=(0, None))[1]
