"""The floating pools of a configuration: the pools of the cluster, of the values of a label, and of namespaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.demand import Demand, DemandReader
from berth.scheduling.managed_resources.pools import (
    CLUSTER,
    NAMESPACE,
    Shares,
    add,
    cluster_pool,
    domain_of,
    is_floating,
    label_pool,
    limits_namespace,
    namespace_pool,
    resource_of,
)
from berth.scheduling.objects.pod import Pod

# The reasons are constant (fact 17): they do not contain amounts or values of labels.

REASON_NO_DOMAIN = "node(s) had no label {}, by which {} is counted"
_INSUFFICIENT = "Insufficient {}"
_KEPT = "{} is kept for waiting pods of a higher priority"
_BEYOND = "the pod requests more {} than there is"
_WHERE = {CLUSTER: "{} in the cluster", NAMESPACE: "{} in the pod's namespace"}
_IN_LABEL = "{} in the node's {}"

_EVERYWHERE = (*_WHERE.values(), _IN_LABEL)
POOL_REASONS = frozenset(reason.format(where) for reason in (_INSUFFICIENT, _KEPT) for where in _EVERYWHERE)
"""The reasons of a pod that waits for a floating pool; `{}` stands for a resource or the key of a label."""

FLOATING_REASONS = POOL_REASONS | {REASON_NO_DOMAIN} | {_BEYOND.format(where) for where in _EVERYWHERE}
"""All reasons to reject a node because of a floating pool."""


@dataclass(frozen=True, slots=True)
class Insufficient:
    """The resources of which too little is left. never: whether a demand exceeds the node's whole capacity."""

    resources: tuple[str, ...]
    never: bool

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(map(insufficient, self.resources))

    @property
    def text(self) -> str:
        return ", ".join(self.reasons)


@dataclass(frozen=True, slots=True)
class NoDomain:
    """The node is not in a domain of a floating resource: it does not have the label `key`."""

    resource: str
    key: str

    @property
    def reason(self) -> str:
        return REASON_NO_DOMAIN.format(self.key, self.resource)


def insufficient(pool: str) -> str:
    """Return the reason in NodeResourcesFit's words. pool: a resource, or a floating pool."""
    return _INSUFFICIENT.format(_described(pool))


def kept_for_others(pool: str) -> str:
    return _KEPT.format(_described(pool))


def beyond_capacity(pool: str) -> str:
    return _BEYOND.format(_described(pool))


def _described(pool: str) -> str:
    kind = domain_of(pool).partition("=")[0]
    return _WHERE.get(kind, _IN_LABEL if kind else "{}").format(resource_of(pool), kind)


class FloatingPools:
    """The floating pools of one configuration. Thread-safe."""

    def __init__(
        self, resources: Mapping[str, ManagedResource], demands: DemandReader, limits: Mapping[str, int]
    ) -> None:
        """Collect the pools. limits: the podLimit by resource."""
        self._resources, self._reader, self._limits = resources, demands, limits
        floating = [each for each in resources.values() if each.is_floating]
        self.exist = bool(floating) or any(each.per_namespace is not None for each in resources.values())
        """Whether there are floating pools."""
        self.of_cluster = frozenset(cluster_pool(each.name) for each in floating if each.scope == CLUSTER)
        self._keyed = [each for each in floating if each.scope != CLUSTER]
        self.label_keys = frozenset(each.scope for each in self._keyed)
        """The keys of the node labels whose values are domains."""

    @property
    def reasons_to_wait(self) -> frozenset[str]:
        """Return the reasons of a pod that waits for one of these pools: POOL_REASONS with resources and label keys."""
        kinds = {pool for each in self._resources for pool in self.of((each,), "", dict.fromkeys(self.label_keys, ""))}
        return frozenset((*map(insufficient, kinds), *map(kept_for_others, kinds)))

    def of_labels(self, labels: Mapping[str, str]) -> frozenset[str]:
        """Return the pools to which a node belongs because of these labels."""
        return frozenset(
            label_pool(each.name, each.scope, labels[each.scope]) for each in self._keyed if each.scope in labels
        )

    def of(self, resources: Iterable[str], namespace: str, labels: Mapping[str, str]) -> frozenset[str]:
        """Return the pools of these resources for a pod of the namespace on a node with these labels."""
        found: set[str] = set()
        for each in filter(None, map(self._resources.get, resources)):
            if each.scope == CLUSTER:
                found.add(cluster_pool(each.name))
            elif each.is_floating and each.scope in labels:
                found.add(label_pool(each.name, each.scope, labels[each.scope]))
            if each.per_namespace is not None:
                found.add(namespace_pool(each.name, namespace))
        return frozenset(found)

    def waiting(self, pods: Iterable[Pod], of_labels: Iterable[str]) -> Mapping[str, int]:
        """Return the number of these waiting pods that request each pool of the cluster, of a namespace, or in
        `of_labels`. A waiting pod does not have a node, so it counts for the pools of all values of a label."""
        resources, limits = Counter[str](), Counter[str]()
        for pod in pods:
            requested = {demand.resource for demand in self._reader.read(pod).readable}
            resources.update(requested)
            limits.update(filter(limits_namespace, self.of(requested, pod.namespace, {})))
        return {**limits, **{pool: resources[resource_of(pool)] for pool in self.of_cluster.union(of_labels)}}

    def scope(self, demand: Demand) -> str:
        return self._resources[demand.resource].scope

    def demands(self, demands: Iterable[Demand]) -> tuple[Demand, ...]:
        """Return the demands that are counted in floating pools, only there or also on the node."""
        if not self.exist:
            return ()
        found = ((self._resources[demand.resource], demand) for demand in demands)
        return tuple(demand for each, demand in found if each.is_floating or each.per_namespace is not None)

    def shares(self, demands: Iterable[Demand], namespace: str, labels: Mapping[str, str]) -> Shares | NoDomain:
        """Return the shares of these demands, for a pod of the namespace on a node with these labels. Return NoDomain
        if the node lacks the label of a resource."""
        found: dict[str, int] = {}
        for demand in self.demands(demands):
            each = self._resources[demand.resource]
            if each.is_floating and each.scope != CLUSTER and each.scope not in labels:
                return NoDomain(demand.resource, each.scope)
            found |= dict.fromkeys(self.of((demand.resource,), namespace, labels), demand.amount)
        return found

    def used(self, pods: Iterable[Pod], labels: Mapping[str, str]) -> Shares:
        """Return, by pool, the amounts of these pods on a node with these labels; for each pod at most the podLimit."""
        used: dict[str, int] = {}
        asked, annotated = self._reader.requests, bool(self._reader.annotations)
        for pod in pods:
            if pod.assumed_shares is not None:
                add(used, {pool: amount for pool, amount in pod.assumed_shares.items() if is_floating(pool)})
            elif annotated or not asked.isdisjoint(pod.spec.requests.asked):
                for demand in self.demands(self._reader.read(pod).readable):
                    amount = min(demand.amount, self._limits.get(demand.resource, demand.amount))
                    add(used, dict.fromkeys(self.of((demand.resource,), pod.namespace, labels), amount))
        return used

    def capacity(self, pool: str) -> int:
        """Return the capacity of a pool; 0 if the configuration does not have this pool."""
        resource, domain = self._resources.get(resource_of(pool)), domain_of(pool)
        if resource is None:
            return 0
        if limits_namespace(pool):
            return resource.per_namespace or 0
        return 0 if resource.capacity is None else resource.capacity.of_domain(domain)
