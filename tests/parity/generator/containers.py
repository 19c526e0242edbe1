"""Containers, their ports and images, and the resources of the pod as a whole."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.demand import ContainerDemand, container_demand, imprecise, resources, total
from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Feature
from tests.parity.generator.images import IN_PODS
from tests.parity.generator.quantities import HUGE_PAGES, MI, Amounts, quantities, usual_quantities

HOST_IPS = ("", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")
PROTOCOLS = ("TCP", "UDP", "SCTP")

Port = tuple[int, str]
"""Number and protocol."""


def add_containers(draw: Draw, features: frozenset[Feature], spec: dict[str, Any], *, modest: bool) -> None:
    """Add containers to a pod. Modest pods have small requests, so that many fit."""
    demands = [container_demand(draw, features) for _ in range(1 if modest else draw.weighted({1: 5, 2: 3, 3: 1}))]
    init_demands: list[ContainerDemand] = []
    if Feature.INIT_CONTAINERS in features and draw.chance(0.4):
        count = draw.between(1, 3)
        init_demands = [container_demand(draw, features, sidecar=draw.chance(0.5)) for _ in range(count)]

    ports: list[Port] = []  # of the whole pod: two containers may not have the same port
    if Feature.PORTS in features and draw.chance(0.6):
        ports = draw.shuffled([(number, protocol) for number in (80, 8080) for protocol in PROTOCOLS])
        if draw.chance(0.15):
            spec["hostNetwork"] = True
    for kind, of_kind in (("containers", demands), ("initContainers", init_demands)):
        if of_kind:
            spec[kind] = [_container(draw, f"{kind[0]}{i}", demand, spec, ports) for i, demand in enumerate(of_kind)]
    if Feature.IMAGES in features and draw.chance(0.2):
        spec["volumes"] = [{"name": "weights", "image": {"reference": draw.one_of(IN_PODS), "pullPolicy": "Always"}}]
    _add_pod_resources(draw, features, spec, demands, init_demands)


def _add_pod_resources(
    draw: Draw,
    features: frozenset[Feature],
    spec: dict[str, Any],
    demands: list[ContainerDemand],
    init_demands: list[ContainerDemand],
) -> None:
    """Add overhead and pod-level resources; without either, a single container may have unrounded requests."""
    if Feature.OVERHEAD in features and draw.chance(0.4):
        spec["overhead"] = quantities(draw, {"cpu": draw.one_of((10, 250)), "memory": draw.one_of((1, 120)) * MI})
    if Feature.POD_LEVEL_RESOURCES in features and draw.chance(0.5):
        spec["resources"] = _pod_level_resources(draw, total(demands, init_demands))
    alone = len(demands) == 1 and not init_demands and not spec.keys() & {"overhead", "resources"}
    if alone and Feature.ODD_QUANTITIES in features and draw.chance(0.1):
        spec["containers"][0]["resources"] = {"requests": imprecise(draw)}


def _container(
    draw: Draw, name: str, demand: ContainerDemand, spec: dict[str, Any], ports: list[Port]
) -> dict[str, Any]:
    container: dict[str, Any] = {"name": name, "image": draw.one_of(IN_PODS), "resources": resources(draw, demand)}
    if demand.sidecar:
        container["restartPolicy"] = "Always"
    if ports and draw.chance(0.7):
        own = [ports.pop() for _ in range(min(draw.between(1, 2), len(ports)))]
        container["ports"] = [_port(draw, port, on_host=spec.get("hostNetwork", False)) for port in own]
    return container


def _port(draw: Draw, number_and_protocol: Port, *, on_host: bool) -> dict[str, Any]:
    number, protocol = number_and_protocol
    port: dict[str, Any] = {"containerPort": number, "protocol": protocol}
    if on_host or draw.chance(0.8):
        port["hostPort"] = number
        host_ip = draw.one_of(HOST_IPS)
        if host_ip and not on_host:
            port["hostIP"] = host_ip
    return port


def _pod_level_resources(draw: Draw, needed: Amounts) -> dict[str, Any]:
    """Draw requests of the pod as a whole, for one resource or both; at least what its containers need.

    They have few digits, as an API server stores them. kube-scheduler adds the overhead to the spec's own number; if
    that is a big decimal, the sum stays in the spec and grows with each evaluation of the pod.
    """
    extra = {"cpu": draw.one_of((0, 100, 1000)), "memory": draw.one_of((0, MI, 512 * MI))}
    names = draw.some_of(("cpu", "memory"), 1, 2)
    requests = {name: needed.get(name, 0) + extra[name] for name in names}
    if len(names) == 1 or draw.chance(0.5):
        return {"requests": usual_quantities(requests)}
    if draw.chance(0.3):
        requests[HUGE_PAGES] = draw.one_of((2 * MI, 512 * MI))
    limits = usual_quantities(requests)  # with limits, an API server fills in all requests
    return {"requests": limits, "limits": limits}
