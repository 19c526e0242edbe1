"""Counting for any nodes and pods: within the capacity, without exceptions, and bad requests do not hide others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.scheduling.managed_resources.configuration import MAX_AMOUNT
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import left
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject, read_node
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import (
    ANNOTATED,
    LICENCE,
    LICENCES,
    MEMORY,
    PERCENTAGE,
    SIZES,
    SLICES,
    asking,
    configuration,
    counted_node,
    counting,
)
from tests.property.json_values import json_values

pytestmark = pytest.mark.long

PACKINGS = [{**SLICES, "devices": {**SLICES["devices"], "packing": each}} for each in ("best-fit", "spread")]  # type: ignore[dict-item]

countings = st.sampled_from([counting(LICENCES, each) for each in PACKINGS])
sizes = st.lists(st.integers(0, 50), max_size=6)
demands = st.tuples(
    st.integers(1, 8).map(lambda amount: Demand(LICENCE, amount)),
    st.integers(1, 60).map(lambda amount: Demand(MEMORY, amount))
    | st.integers(1, 100).map(lambda percent: Demand(MEMORY, percent, percent=True)),
).flatmap(lambda both: st.sampled_from([both, both[:1], both[1:]]))


@st.composite
def rooms(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, int]]:
    """Draw a node's capacity and the free amount of each pool."""
    capacity = {LICENCE: draw(st.integers(0, 8))} | {
        f"{MEMORY}#{index}": size for index, size in enumerate(draw(sizes)) if size
    }
    return capacity, {pool: draw(st.integers(0, amount)) for pool, amount in capacity.items()}


@given(found=countings, asked=demands, room=rooms())
def test_chooses_pools_with_enough_room_if_there_are_any(
    found: Counting, asked: tuple[Demand, ...], room: tuple[dict[str, int], dict[str, int]]
) -> None:
    capacity, free = room
    chosen = found.choose(asked, capacity, free)
    if isinstance(chosen, Insufficient):
        # No pool has room for any of the demands that are short.
        short = {demand.resource: demand for demand in asked if demand.resource in chosen.resources}
        assert all(
            demand.of(capacity[pool]) > free.get(pool, 0)
            for demand in short.values()
            for pool in found.pools(demand.resource, capacity)
        )
        assert chosen.never is any(
            all(demand.of(capacity[pool]) > capacity[pool] for pool in found.pools(demand.resource, capacity))
            for demand in short.values()
        )
    else:
        assert len(chosen) == len(asked)
        assert all(0 < amount <= free[pool] for pool, amount in chosen.items())


@given(found=countings, node=st.tuples(st.integers(0, 8), sizes), asked=st.lists(demands, max_size=25))
def test_pods_placed_one_by_one_never_exceed_the_capacity_of_the_node(
    found: Counting, node: tuple[int, list[int]], asked: list[tuple[Demand, ...]]
) -> None:
    """Each pod is bound with its annotations, from which its shares are read back."""
    info = counted_node("n", str(node[0]), ",".join(map(str, node[1])))
    capacity = found.capacity(info)
    pods: list[Pod] = []
    reserved: Counter[str] = Counter()
    for number, each in enumerate(asked):
        shares = found.placed(each, info.with_pods(pods))
        if not isinstance(shares, Insufficient):
            pod = asking(f"p{number}", "n", found.annotations(shares), **_requests(each))
            assert found.shares(pod, capacity) == shares
            pods.append(pod)
            reserved.update(shares)
            assert found.used(pods, capacity) == reserved
            assert all(amount <= capacity[pool] for pool, amount in reserved.items())


def _requests(asked: tuple[Demand, ...]) -> dict[str, str]:
    names = {(LICENCE, False): "licence", (MEMORY, False): "gpumem", (MEMORY, True): "percentage"}
    return {names[each.resource, each.percent]: str(each.amount) for each in asked}


@given(
    found=countings,
    room=rooms(),
    pods=st.lists(st.tuples(demands, st.none() | st.integers(0, 9), st.booleans()), max_size=8),
)
def test_counts_whole_request_of_pods_that_other_binders_placed_in_any_order(
    found: Counting,
    room: tuple[dict[str, int], dict[str, int]],
    pods: list[tuple[tuple[Demand, ...], int | None, bool]],
) -> None:
    capacity, _ = room
    read = [
        asking(
            f"p{number}",
            "n",
            {} if device is None else {"berth.dev/nvidia.com.gpumem": str(device)},
            **_requests(asked),
        )
        for number, (asked, device, _) in enumerate(pods)
    ]
    used = found.used(read, capacity)
    assert used == found.used(read[::-1], capacity)
    licences = sum(demand.amount for asked, *_ in pods for demand in asked if demand.resource == LICENCE)
    assert used.get(LICENCE, 0) == licences
    amounts = sum(d.amount for asked, *_ in pods for d in asked if d.resource == MEMORY and not d.percent)
    assert sum(amount for pool, amount in used.items() if pool != LICENCE) >= amounts
    assert all(amount >= 0 for amount in left(capacity, used).values())


SEAT = "example.com/seat"
SEATS = {**ANNOTATED, "name": SEAT}
good = st.none() | st.integers(1, 20).map(str)
# The API server does not store a container request that is not a quantity.
bad = st.sampled_from([("seats", "three"), ("seats", "-1")]) | st.tuples(
    st.sampled_from(["licence", "gpumem", "seats"]), st.sampled_from(["9" * 18, "1e30"])
)


@given(
    values=st.fixed_dictionaries({"licence": good, "gpumem": good, "seats": good}),
    hidden=bad,
    device=st.none() | st.integers(0, 3),
    free=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_unreadable_request_does_not_hide_other_requests_of_a_placed_pod(
    values: dict[str, str | None], hidden: tuple[str, str], device: int | None, free: tuple[int, int]
) -> None:
    """The pod counts as it would without this request."""
    found = counting(LICENCES, SLICES, SEATS)
    capacity = {LICENCE: 8, SEAT: 8, f"{MEMORY}#0": 30, f"{MEMORY}#1": 10}
    room = capacity | {f"{MEMORY}#{index}": amount for index, amount in enumerate(free)}
    name, value = hidden
    forged, honest = (_foreign(values | {name: each}, device) for each in (value, None))
    assert isinstance(found.demands(forged), UnreadableObject)
    assert found.charged(forged, capacity, room) == found.charged(honest, capacity, room)
    assert found.adopted(forged, capacity, room) == found.adopted(honest, capacity, room)
    assert found.shares(forged, capacity) == found.shares(honest, capacity)
    assert found.used([forged], capacity) == found.used([honest], capacity)


def _foreign(values: Mapping[str, str | None], device: int | None) -> Pod:
    asked = {name: value for name, value in values.items() if value is not None}
    annotations = {} if device is None else {"berth.dev/nvidia.com.gpumem": str(device)}
    annotations |= {name: asked.pop(name) for name in ("seats",) if name in asked}
    return asking("p", "n", annotations, **asked)


TEXTS = st.text(max_size=12) | st.sampled_from(["1", "-1", "1e99", "9" * 19, "1,2", ",", "8Gi", "٣", "1" * 5000])
AMOUNTS = json_values | TEXTS


@given(value=AMOUNTS, other=AMOUNTS, size=AMOUNTS, device=AMOUNTS)
def test_counts_within_the_limits_whatever_json_nodes_and_pods_contain(
    value: Any, other: Any, size: Any, device: Any
) -> None:
    found = counting(
        LICENCES,
        SLICES,
        {"name": "example.com/a", "capacity": {"nodeAnnotation": "a"}, "requests": {"podAnnotation": "a"}},
        {"name": "example.com/b", "devices": {"count": {"nodeLabel": "b"}, "size": {"allocatable": "example.com/s"}}},
    )
    labels = {LICENCE: value, "b": size} if isinstance(value, str) and isinstance(size, str) else None
    annotations = {SIZES: size, "a": value, "c": other}
    allocatable = {LICENCE: other, "example.com/s": size}
    metadata = {"name": "n", "labels": labels, "annotations": annotations}
    node = read_node({"metadata": metadata, "status": {"allocatable": allocatable}})
    assert isinstance(node, NodeInfo)
    capacity = found.capacity(node)
    assert all(type(amount) is int and 0 < amount <= MAX_AMOUNT for amount in capacity.values())
    assert len(capacity) <= 1024
    assert all(isinstance(cause, str) for cause in found.unreadable(node).values())
    containers = [{"resources": {"requests": {MEMORY: value, PERCENTAGE: other}}}]
    metadata = {"name": "p", "annotations": {"a": other, "berth.dev/nvidia.com.gpumem": device}}
    pod = PodReader().read({"metadata": metadata, "spec": {"containers": containers, "nodeName": "n"}})
    if not isinstance(pod, UnreadableObject):
        asked = found.demands(pod)
        if not isinstance(asked, UnreadableObject):
            found.placed(asked, node)
        assert all(amount > 0 for amount in found.used([pod, replace(pod, uid="x")], capacity).values())


@given(
    pods=st.lists(st.tuples(st.sampled_from(["n0", "n1", "n2"]), demands), max_size=8),
    asks=demands,
    packing=st.sampled_from(PACKINGS),
)
def test_node_passes_exactly_if_it_has_room(
    pods: list[tuple[str, tuple[Demand, ...]]], asks: tuple[Demand, ...], packing: Mapping[str, object]
) -> None:
    """Compare the verdict of filter with the choice that bind would make."""
    policy = configuration(LICENCES, packing).policy()
    nodes = [counted_node(f"n{number}", "6", "40,20") for number in range(3)]
    snapshot = Snapshot.of(
        nodes, [asking(f"p{i}", name, None, **_requests(each)) for i, (name, each) in enumerate(pods)]
    )
    decision = policy.feasibility(asking("asks", "", None, **_requests(asks)), [node.name for node in nodes], snapshot)
    for name, node in snapshot.nodes.items():
        assert (name in decision.feasible) is not isinstance(policy.counting.placed(asks, node), Insufficient)
