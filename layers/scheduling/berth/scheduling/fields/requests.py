"""Computes a pod's requests from its containers, init containers, sidecars, pod-level requests, overhead and resize.

The rules are those of `k8s.io/component-helpers/resource`. The requests of containers and sidecars are added. An init
container needs its own requests and those of the sidecars before it. For each resource, the pod requests the larger
amount. Sums are exact, and rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from berth.scheduling.fields.quantity import Quantity
from berth.scheduling.fields.reading import (
    Object,
    condition_in,
    name_or_empty,
    read_integer,
    read_object,
    read_object_list,
)
from berth.scheduling.fields.resources import (
    CPU,
    MEMORY,
    NATIVE,
    Amounts,
    ResourceList,
    add,
    amount_of,
    counted,
    is_pod_level,
    raise_to,
    read_resource_list,
)

ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  # a wildcard for comparisons; sockets do not use it
_TCP = "TCP"


class HostPort(NamedTuple):
    """A host port of a container. The address `0.0.0.0` means all addresses."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class Images:
    """The image names of containers and volumes, as a node lists them. containers: the number of containers, including
    init containers."""

    names: tuple[str, ...] = ()
    containers: int = 0


NO_IMAGES = Images()


def read_host_ports(spec: Object) -> tuple[HostPort, ...]:
    """Read the host ports of containers and sidecars. Other init containers have ended before the pod runs."""
    holders = [
        *read_object_list(spec.get("containers"), "Pod.spec.containers"),
        *(
            item
            for item in read_object_list(spec.get("initContainers"), "Pod.spec.initContainers")
            if item.get("restartPolicy") == "Always"
        ),
    ]
    found = []
    for holder in holders:
        for item in read_object_list(holder.get("ports"), "Pod.spec.containers[].ports"):
            port = read_integer(item.get("hostPort"), "Pod.spec.containers[].ports[].hostPort") or 0
            if port > 0:
                address, protocol = name_or_empty(item.get("hostIP")), name_or_empty(item.get("protocol"))
                found.append(HostPort(address or ALL_ADDRESSES, protocol or _TCP, port))
    return tuple(found)


def read_images(spec: Object) -> Images:
    """Read image names as a node lists them. Raises MalformedField."""
    containers = [
        _with_tag(name_or_empty(item.get("image")))
        for field in ("initContainers", "containers")
        for item in read_object_list(spec.get(field), f"Pod.spec.{field}")
    ]
    volumes = [
        _with_tag(name_or_empty(read_object(item["image"], "Pod.spec.volumes[].image").get("reference")))
        for item in read_object_list(spec.get("volumes"), "Pod.spec.volumes")
        if item.get("image") is not None
    ]
    return Images((*containers, *volumes), len(containers))


def _with_tag(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


# Scores assume these amounts for containers without cpu or memory requests, so that such pods do not fill one node.
_DEFAULTS: ResourceList = {CPU: Quantity(100, -3), MEMORY: Quantity(200 * 1024 * 1024)}
_NONE: ResourceList = {}
_LARGEST = Quantity((1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Requests:
    """A pod's requests, in the forms that kube-scheduler's filters and scores use.

    asked: the requests in the pod's spec; filters compare them with the free amounts of a node.
    placed: the requests that count on its node; during a feasible resize, the larger amounts of spec and status.
    non_zero_cpu, non_zero_memory: cpu and memory in `placed`, with defaults for containers that do not request them.
    scored: the requests without pod-level requests, with these defaults, for the score of NodeResourcesFit.
    beyond: resources whose request exceeds 64 bits. kube-scheduler computes an arbitrary number for these.
    """

    asked: Amounts
    placed: Amounts
    non_zero_cpu: int
    non_zero_memory: int
    scored: Amounts
    beyond: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Container:
    name: str
    requests: ResourceList
    sidecar: bool


@dataclass(frozen=True, slots=True)
class _Pod:
    containers: list[_Container]
    init_containers: list[_Container]
    pod_level: ResourceList
    overhead: ResourceList


def read_requests(spec: Object, status: Object) -> Requests:
    """Read the requests of a pod's spec and status. Raises MalformedField."""
    pod_level = _container(spec, "Pod.spec").requests
    pod = _Pod(
        _containers(spec, "containers"),
        _containers(spec, "initContainers"),
        {name: amount for name, amount in pod_level.items() if is_pod_level(name)},
        read_resource_list(spec.get("overhead"), "Pod.spec.overhead"),
    )
    placed_pod = _resized(pod, status)
    asked = _total(pod, pod.pod_level, _NONE)
    placed = asked if placed_pod is pod else _total(placed_pod, placed_pod.pod_level, _NONE)
    missing = {name: amount for name, amount in _DEFAULTS.items() if not pod.pod_level or name not in placed}
    non_zero = _total(placed_pod, placed_pod.pod_level, missing)
    counts = {name: units for name, units in counted(asked).items() if units > 0}
    return Requests(
        counts,
        counts if placed is asked else counted(placed),
        amount_of(CPU, non_zero),
        amount_of(MEMORY, non_zero),
        counted(_total(pod, _NONE, _DEFAULTS)),
        frozenset(name for name, amount in asked.items() if name not in NATIVE and amount.exceeds(_LARGEST)),
    )


def _containers(spec: Object, field: str) -> list[_Container]:
    path = f"Pod.spec.{field}"
    return [_container(item, f"{path}[]") for item in read_object_list(spec.get(field), path)]


def _container(obj: Object, path: str) -> _Container:
    resources = read_object(obj.get("resources"), f"{path}.resources")
    return _Container(
        name_or_empty(obj.get("name")),
        read_resource_list(resources.get("requests"), f"{path}.resources.requests"),
        obj.get("restartPolicy") == "Always",
    )


def _total(pod: _Pod, pod_level: ResourceList, missing: ResourceList) -> ResourceList:
    total: ResourceList = {}
    for container in pod.containers:
        add(total, missing | container.requests)
    sidecars: ResourceList = {}
    initial: ResourceList = {}
    for container in pod.init_containers:
        requests = missing | container.requests
        if container.sidecar:
            add(total, requests)
            add(sidecars, requests)
            requests = sidecars
        else:
            add(requests, sidecars)
        raise_to(initial, requests)
    raise_to(total, initial)
    total |= pod_level
    add(total, pod.overhead)
    return total


def _resized(pod: _Pod, status: Object) -> _Pod:
    """Return the pod with the amounts that count during a resize, if the status reports its resources."""
    statuses = {
        name_or_empty(item.get("name")): item
        for field in ("containerStatuses", "initContainerStatuses")
        for item in read_object_list(status.get(field), f"Pod.status.{field}")
    }
    reported = {name: item for name, item in statuses.items() if item.get("resources") is not None}
    pod_level_reported = bool(pod.pod_level) and status.get("resources") is not None
    if not reported and not pod_level_reported:
        return pod
    infeasible = condition_in(status, "PodResizePending").get("reason") == "Infeasible"

    def effective(container: _Container, *, init: bool) -> _Container:
        item = reported.get(container.name)
        if item is None or (init and not container.sidecar):
            return container
        requests = _effective(container.requests, item, "Pod.status.containerStatuses[]", infeasible)
        return _Container(container.name, requests, container.sidecar)

    level = pod.pod_level
    if pod_level_reported:
        found = _effective(level, status, "Pod.status", infeasible)
        level = {name: found.get(name, Quantity(0)) for name in level}
    return _Pod(
        [effective(container, init=False) for container in pod.containers],
        [effective(container, init=True) for container in pod.init_containers],
        level,
        pod.overhead,
    )


def _effective(spec: ResourceList, status: Object, path: str, infeasible: bool) -> ResourceList:
    resources = read_object(status.get("resources"), f"{path}.resources")
    largest = {} if infeasible else dict(spec)
    raise_to(largest, read_resource_list(resources.get("requests"), f"{path}.resources.requests"))
    raise_to(largest, read_resource_list(status.get("allocatedResources"), f"{path}.allocatedResources"))
    return largest
