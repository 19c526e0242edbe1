"""Capacity of nodes for counted resources."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.scheduling.managed_resources.configuration import MAX_AMOUNT, MAX_DEVICES
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
