"""Capacity of nodes for counted resources."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.scheduling.managed_resources.configuration import MAX_AMOUNT
from berth.scheduling.managed_resources.pools import MAX_DEVICES
from tests.builders.counted import (
    LICENCE,
    MEMORY,
    SIZES,
    SLICES,
    counted_node,
    counting,
)
from tests.unit.scheduling.managed_resources.counted_nodes import ALIKE, node_of, pools


@pytest.mark.parametrize(
    ("resource", "capacity"),
    [
        pytest.param({"name": LICENCE}, {LICENCE: 5}, id="allocatable of the same name by default"),
        pytest.param(
            {"name": LICENCE, "capacity": {"allocatable": "example.com/seats"}},
            {LICENCE: 7},
            id="allocatable of another resource",
        ),
        pytest.param({"name": LICENCE, "capacity": {"nodeLabel": "seats"}}, {LICENCE: 3}, id="a label"),
        pytest.param({"name": LICENCE, "capacity": {"nodeAnnotation": "seats"}}, {LICENCE: 4}, id="an annotation"),
        pytest.param({"name": LICENCE, "capacity": {"nodeLabel": "absent"}}, {}, id="a missing label"),
        pytest.param({"name": LICENCE, "capacity": {"value": 6}}, {LICENCE: 6}, id="a constant of each node"),
        pytest.param({"name": LICENCE, "capacity": {"value": 0}}, {}, id="a constant of 0"),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 6, "nodeSelector": {"seats": "3", "gpu.count": "2"}}},
            {LICENCE: 6},
            id="a constant of nodes with these labels",
        ),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 6, "nodeSelector": {"seats": "3", "gpu.count": "3"}}},
            {},
            id="a constant of other nodes",
        ),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 6, "nodeSelector": {"absent": ""}}},
            {},
            id="a constant of nodes with an empty label",
        ),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 6, "scope": "cluster"}}, {}, id="a constant of the cluster"
        ),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 6, "scope": "seats", "values": {"3": 9}}},
            {},
            id="a constant of the nodes with the same label",
        ),
        pytest.param({"name": LICENCE, "perNamespace": 2}, {LICENCE: 5}, id="a limit for each namespace"),
        pytest.param(SLICES, pools(8000, 0, 16000), id="sizes with a device of size 0"),
        pytest.param(
            {"name": MEMORY, "devices": {"sizes": {"nodeLabel": "sizes"}}}, pools(8000, 16000), id="sizes in a label"
        ),
        pytest.param(ALIKE, pools(8000, 8000), id="count and size"),
        pytest.param(
            {"name": MEMORY, "devices": {"count": {"allocatable": LICENCE}, "size": {"nodeLabel": "absent"}}},
            {},
            id="devices of unknown size",
        ),
    ],
)
def test_reads_capacity_from_its_source(resource: Mapping[str, object], capacity: Mapping[str, int]) -> None:
    node = node_of(
        {"seats": "3", "sizes": "8000_16000", "gpu.count": "2", "gpu.memory": "8000"},
        {"seats": "4", SIZES: " 8000, 0, 16k"},
        {LICENCE: "5", "example.com/seats": "7"},
    )
    found = counting(resource)
    assert (found.capacity(node), found.unreadable(node)) == (capacity, {})


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        pytest.param("1500m", 2, id="parts are rounded up"),
        pytest.param("8Gi", 8 << 30, id="binary suffixes"),
        pytest.param("1e3", 1000, id="exponents"),
        pytest.param(str(MAX_AMOUNT), MAX_AMOUNT, id="the largest"),
    ],
)
def test_reads_amounts_as_quantities(value: str, amount: int) -> None:
    assert counting().capacity(counted_node(licences=value)) == {LICENCE: amount}


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        pytest.param("-1", "is negative", id="negative"),
        pytest.param("many", "is not a quantity", id="a word"),
        pytest.param("", "is not a quantity", id="empty"),
        pytest.param("9" * 19, "is larger than 10^15", id="19 digits"),
        pytest.param("1e300", "is larger than 10^15", id="an exponent beyond 64 bits"),
        pytest.param("9" * 5000, "is not a quantity", id="a very long number"),
    ],
)
def test_error_names_unreadable_capacity(value: str, cause: str) -> None:
    found, node = counting(), counted_node(licences=value, sizes="8000")
    assert found.capacity(node) == pools(8000)
    assert found.unreadable(node) == {LICENCE: cause}


@pytest.mark.parametrize(
    ("sizes", "cause"),
    [
        pytest.param("8000,,8000", "is not a quantity", id="a gap"),
        pytest.param("8000,-1", "is negative", id="a negative one"),
        pytest.param(",".join(["1"] * (MAX_DEVICES + 1)), "has more than 256 devices", id="too many"),
    ],
)
def test_rejects_list_with_one_invalid_size(sizes: str, cause: str) -> None:
    found, node = counting(SLICES), counted_node(sizes=sizes)
    assert (found.capacity(node), found.unreadable(node)) == ({}, {MEMORY: cause})


def test_rejects_a_million_devices() -> None:
    node = node_of({"gpu.count": "1000000", "gpu.memory": "8000"}, {}, {})
    assert counting(ALIKE).unreadable(node) == {MEMORY: "has more than 256 devices"}


ZONE = "topology.kubernetes.io/zone"
IN_CLUSTER = {"value": 6, "scope": "cluster"}
IN_ZONE = {"value": 6, "scope": ZONE, "values": {"a": 9, "b": 0}}


@pytest.mark.parametrize(
    ("resource", "pool", "capacity"),
    [
        pytest.param({"capacity": IN_CLUSTER}, f"{LICENCE}@cluster", 6, id="the cluster"),
        pytest.param({"capacity": IN_CLUSTER}, f"{LICENCE}@{ZONE}=a", 0, id="a label's value, with the scope cluster"),
        pytest.param({"capacity": IN_CLUSTER}, f"{LICENCE}@namespace=ml", 0, id="a namespace without a limit"),
        pytest.param({"capacity": IN_ZONE}, f"{LICENCE}@{ZONE}=c", 6, id="a label's value"),
        pytest.param({"capacity": IN_ZONE}, f"{LICENCE}@{ZONE}=a", 9, id="a label's value with a number of its own"),
        pytest.param({"capacity": IN_ZONE}, f"{LICENCE}@{ZONE}=b", 0, id="a label's value without units"),
        pytest.param({"capacity": IN_ZONE}, f"{LICENCE}@zone=a", 0, id="another label"),
        pytest.param({"capacity": IN_ZONE}, f"{LICENCE}@cluster", 0, id="the cluster, with a label as scope"),
        pytest.param({"capacity": {"value": 6}}, f"{LICENCE}@cluster", 0, id="the cluster, with the scope node"),
        pytest.param({"perNamespace": 2}, f"{LICENCE}@namespace=ml", 2, id="a limit of a resource of nodes"),
        pytest.param({"perNamespace": 2}, f"{LICENCE}@cluster", 0, id="the cluster, without a constant"),
        pytest.param(
            {"capacity": IN_ZONE, "perNamespace": 2}, f"{LICENCE}@namespace=a", 2, id="a limit, beside a label"
        ),
        pytest.param({"capacity": IN_CLUSTER}, "example.com/other@cluster", 0, id="another resource"),
    ],
)
def test_reads_capacity_of_a_floating_pool(resource: Mapping[str, object], pool: str, capacity: int) -> None:
    assert counting({"name": LICENCE, **resource}).floating.capacity(pool) == capacity
