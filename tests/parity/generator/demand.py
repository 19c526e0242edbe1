"""Requests of containers as amounts, which are written as quantities later."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Feature
from tests.parity.generator.quantities import BELOW_MILLI, EXTENDED_RESOURCES, GI, HUGE_PAGES, MI, Amounts, quantities

CPU = (0, 50, 100, 250, 500, 1000, 1500, 2000)
MEMORY = (0, 64 * MI, 100_000_000, 256 * MI, 512 * MI, 1 * GI, 1536 * MI)
STORAGE = (0, 1 * GI, 3 * GI, 5_000_000_000)


@dataclass(frozen=True)
class ContainerDemand:
    """The amounts that one container requests. The resources in `limited` have limits equal to the requests."""

    requests: dict[str, int]
    sidecar: bool = False
    limited: frozenset[str] = field(default_factory=frozenset)


def container_demand(draw: Draw, features: frozenset[Feature], *, sidecar: bool = False) -> ContainerDemand:
    """Draw the requests of one container; a missing resource differs from zero."""
    requests = {}
    if draw.chance(0.8):
        requests["cpu"] = draw.one_of(CPU)
    if draw.chance(0.8):
        requests["memory"] = draw.one_of(MEMORY)
    if draw.chance(0.2):
        requests["ephemeral-storage"] = draw.one_of(STORAGE)
    limited = {name for name in requests if draw.chance(0.2)}
    if Feature.EXTENDED_RESOURCES in features:
        for name in draw.some_of(EXTENDED_RESOURCES, 0, 1):
            requests[name] = draw.one_of((0, 1, 1, 2))
            limited.add(name)
        if requests and Feature.POD_LEVEL_RESOURCES not in features and draw.chance(0.1):
            requests[HUGE_PAGES] = draw.one_of((2 * MI, 512 * MI, GI))
            limited.add(HUGE_PAGES)
            requests.setdefault("cpu", 100)  # huge pages alone are refused
    return ContainerDemand(requests, sidecar, frozenset(limited))


def resources(draw: Draw, demand: ContainerDemand) -> dict[str, dict[str, str]]:
    requests = quantities(draw, demand.requests)
    written = {"requests": requests} if requests else {}
    if demand.limited:
        written["limits"] = {name: requests[name] for name in requests if name in demand.limited}
    return written


def imprecise(draw: Draw) -> dict[str, str]:
    """Draw a ResourceList that has to be rounded: only for a pod's single container, see BELOW_MILLI."""
    return {"cpu": draw.one_of(BELOW_MILLI), "memory": draw.one_of(("1m", "1500m", "0.5", "100u", "1073741823500m"))}


def total(containers: Iterable[ContainerDemand], init_containers: Iterable[ContainerDemand]) -> dict[str, int]:
    """Return the amounts that a pod of these containers needs: for each, the larger of the sum and the init peak."""
    sums: dict[str, int] = {}
    for demand in containers:
        _add(sums, demand.requests)
    sidecars: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for demand in init_containers:
        starting = dict(sidecars)
        _add(starting, demand.requests)
        if demand.sidecar:
            sidecars = starting
            _add(sums, demand.requests)
        _raise_to(peaks, starting)
    _raise_to(sums, peaks)
    return sums


def _add(to: dict[str, int], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        to[name] = to.get(name, 0) + amount


def _raise_to(floor: dict[str, int], amounts: Amounts) -> None:
    for name, amount in amounts.items():
        floor[name] = max(floor.get(name, 0), amount)
