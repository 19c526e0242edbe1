"""The usage of a node: the sums over its pods, as in kube-scheduler's NodeInfo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from berth.scheduling.fields.pod_affinity import NO_POD_AFFINITY
from berth.scheduling.fields.quantity import wrapped
from berth.scheduling.fields.requests import HostPort
from berth.scheduling.fields.resources import Amounts
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec

K = TypeVar("K")

_NO_PORTS: frozenset[HostPort] = frozenset()


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a node by its pods. Immutable; `plus` and `minus` make another one.

    requested: sums of the pods' requests. non_zero_*: sums with the defaults for containers without requests.
    label_sets: how many pods have each. terminating: how many of them are being deleted.
    specs_with_affinity: how many pods of each spec have terms of affinity or anti-affinity.
    specs_with_anti_affinity: how many pods of each spec have terms of required anti-affinity.
    """

    requested: Amounts
    non_zero_cpu: int
    non_zero_memory: int
    label_sets: Mapping[LabelSet, int]
    terminating: Mapping[LabelSet, int]
    specs_with_affinity: Mapping[PodSpec, int]
    specs_with_anti_affinity: Mapping[PodSpec, int]
    host_ports: frozenset[HostPort] = _NO_PORTS

    def plus(self, pods: Iterable[Pod]) -> Usage:
        return _sum(self, pods, 1)

    def minus(self, pods: Iterable[Pod], host_ports: frozenset[HostPort]) -> Usage:
        """Subtract these pods, which were part of it. `host_ports`: the ports that the other pods take."""
        return _sum(self, pods, -1, host_ports)


_NO_PODS: Mapping[LabelSet, int] = MappingProxyType({})
_NO_SPECS: Mapping[PodSpec, int] = MappingProxyType({})
UNUSED = Usage(MappingProxyType({}), 0, 0, _NO_PODS, _NO_PODS, _NO_SPECS, _NO_SPECS)


def host_ports_of(pods: Iterable[Pod]) -> frozenset[HostPort]:
    return frozenset(port for pod in pods for port in pod.spec.host_ports)


def _sum(base: Usage, pods: Iterable[Pod], sign: int, host_ports: frozenset[HostPort] | None = None) -> Usage:
    requested, label_sets = dict(base.requested), dict(base.label_sets)
    terminating: dict[LabelSet, int] = {}
    specs_with_affinity: dict[PodSpec, int] = {}
    cpu, memory = base.non_zero_cpu, base.non_zero_memory
    ports = base.host_ports if host_ports is None else host_ports
    for pod in pods:
        spec, found = pod.spec, pod.label_set
        requests = spec.requests
        for name, amount in requests.placed.items():
            requested[name] = requested.get(name, 0) + sign * amount
        cpu += sign * requests.non_zero_cpu
        memory += sign * requests.non_zero_memory
        label_sets[found] = label_sets.get(found, 0) + sign
        if pod.terminating:
            terminating[found] = terminating.get(found, 0) + sign
        if spec.host_ports and sign > 0:
            ports = ports | frozenset(spec.host_ports)
        if spec.pod_affinity is not NO_POD_AFFINITY and spec.pod_affinity.has_terms:
            specs_with_affinity[spec] = specs_with_affinity.get(spec, 0) + sign
    if sign < 0:
        label_sets = {found: count for found, count in label_sets.items() if count}
    return Usage(
        # Once is enough: wrapping around the sum is the same as around every step to it.
        {name: wrapped(amount) for name, amount in requested.items()},
        cpu,
        memory,
        label_sets,
        _added(base.terminating, terminating),
        _added(base.specs_with_affinity, specs_with_affinity),
        _added(
            base.specs_with_anti_affinity,
            {spec: count for spec, count in specs_with_affinity.items() if spec.pod_affinity.anti_required},
        ),
        ports,
    )


def _added(counts: Mapping[K, int], changes: Mapping[K, int]) -> Mapping[K, int]:
    """Add the changes; sums of 0 are left out."""
    if not changes:
        return counts
    changed = {**counts}
    for key, change in changes.items():
        changed[key] = changed.get(key, 0) + change
    return {key: count for key, count in changed.items() if count}
