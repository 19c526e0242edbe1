"""A pod's requests of counted resources, in its containers or in an annotation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType
from weakref import WeakKeyDictionary

from berth.scheduling.fields.reading import UnreadableObject
from berth.scheduling.managed_resources.configuration import ManagedResource, NoAmount, amount_in, bounded
from berth.scheduling.objects.pod import Pod, PodSpec
from berth.scheduling.reason_code import ReasonCode

PERCENT = 100

# The reasons on every node for a request that is not counted. They do not contain the amount (fact 17).
REASON_REQUEST = "the pod's request of {} is not an amount of at most 10^15"
REASON_PERCENT = "the pod's request of {} is more than 100 per cent"
REASON_LIMIT = "the pod's request of {} is larger than its podLimit"
REASON_ANNOTATION = "the pod's annotation {} is not an amount of at most 10^15"


@dataclass(frozen=True, slots=True)
class UnreadableRequest(UnreadableObject):
    """A request that cannot be counted. cause: the reason on every node."""

    reason_code: ReasonCode = ReasonCode.REQUEST_UNREADABLE


@dataclass(frozen=True, slots=True)
class Demand:
    """A pod's request for one resource, above 0. percent: the amount is a percentage of one device, 1 to 100."""

    resource: str
    amount: int
    percent: bool = False

    def of(self, size: int) -> int:
        return -(-size * self.amount // PERCENT) if self.percent else self.amount


@dataclass(frozen=True, slots=True)
class Demands:
    """A pod's requests of counted resources. unreadable: by resource, the first request that cannot be counted.

    Each resource is read separately: for a pod on a node, an unreadable request must not hide the other requests.
    """

    readable: tuple[Demand, ...]
    unreadable: Mapping[str, UnreadableRequest]

    @property
    def uncounted(self) -> Set[str]:
        if not self.unreadable:
            return frozenset()
        return self.unreadable.keys() - {demand.resource for demand in self.readable}


_NO_DEMANDS = Demands((), MappingProxyType({}))


class DemandReader:
    """Reads demands for the resources of one configuration. It caches demands by spec. Thread-safe.

    requests: the resource names in container requests. annotations: the keys of pod annotations that request amounts.
    """

    def __init__(self, resources: Iterable[ManagedResource]) -> None:
        self._by_request: dict[str, ManagedResource] = {}
        self._by_annotation: dict[str, str] = {}
        for each in resources:
            if each.requests is None:
                self._by_request |= dict.fromkeys(each.names, each)
            else:
                self._by_annotation[each.name] = each.requests.pod_annotation
        self.requests = frozenset(self._by_request)
        self.annotations = frozenset(self._by_annotation.values())
        self._known: WeakKeyDictionary[PodSpec, Demands] = WeakKeyDictionary()

    def read(self, pod: Pod) -> Demands:
        """Return the pod's demands; empty without counted resources. The cause of an unreadable request names its
        resource or annotation. As in Kubernetes, the larger of the containers' sum and any init container counts. If a
        pod requests both an amount and a percentage, the amount counts if it can be read."""
        requests = pod.spec.requests
        asks = not self.requests.isdisjoint(requests.asked) or not self.requests.isdisjoint(requests.beyond)
        by_containers = self._requested(pod.spec) if asks else _NO_DEMANDS
        if not self.annotations or not pod.annotations:
            return by_containers
        found: list[Demand] = []
        unreadable: dict[str, UnreadableRequest] = {}
        for name, key in self._by_annotation.items():
            demand = _annotated(pod, name, key)
            if isinstance(demand, UnreadableRequest):
                unreadable[name] = demand
            elif demand is not None:
                found.append(demand)
        if not found and not unreadable:
            return by_containers
        return Demands((*by_containers.readable, *found), {**by_containers.unreadable, **unreadable})

    def _requested(self, spec: PodSpec) -> Demands:
        """Return the demands of the containers, cached by spec: thousands of pods share a spec."""
        known = self._known.get(spec)
        if known is not None:
            return known
        found: dict[str, Demand] = {}
        unreadable: dict[str, UnreadableRequest] = {}
        for name, each in self._by_request.items():
            demand = _requested(spec, name, each.name)
            if isinstance(demand, UnreadableRequest):
                unreadable.setdefault(each.name, demand)
            elif demand is not None:
                # The resource's own name takes precedence over its percentage.
                found.setdefault(each.name, demand)
        known = self._known[spec] = Demands(tuple(found.values()), unreadable)
        return known


def _requested(spec: PodSpec, name: str, resource: str) -> Demand | UnreadableRequest | None:
    """Return the containers' demand for the resource; None if absent. If `name` differs from `resource`, the containers
    request a percentage."""
    if name in spec.requests.beyond:
        return UnreadableRequest(REASON_REQUEST.format(name))
    units, percent = spec.requests.asked.get(name, 0), name != resource
    if units <= 0:
        return None
    amount = bounded(units)
    if isinstance(amount, NoAmount):
        return UnreadableRequest(REASON_REQUEST.format(name))
    if percent and amount > PERCENT:
        return UnreadableRequest(REASON_PERCENT.format(name), ReasonCode.REQUEST_ABOVE_DEVICE)
    return Demand(resource, amount, percent)


def _annotated(pod: Pod, name: str, key: str) -> Demand | UnreadableRequest | None:
    """Return the demand of the pod's annotation `key`; None if the annotation is absent or 0."""
    if key not in pod.annotations:
        return None
    amount = amount_in(pod.annotations[key])
    if isinstance(amount, NoAmount):
        return UnreadableRequest(REASON_ANNOTATION.format(key))
    return Demand(name, amount) if amount else None
