"""`managedResources` of the configuration: valid and invalid values, and the capacity read by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration, validation_messages
from berth.scheduling.managed_resources.configuration import MAX_AMOUNT
from berth.scheduling.managed_resources.pools import MAX_DEVICES
from tests.builders.counted import LICENCE, LICENCES, MEMORY, SIZES, SLICES, configuration, counted_node, counting
from tests.unit.scheduling.managed_resources.counted_nodes import ALIKE, node_of, pools

COUNT = {"nodeLabel": "nvidia.com/gpu.count"}
SIZE = {"nodeLabel": "nvidia.com/gpu.memory"}
ZONE = "topology.kubernetes.io/zone"


def test_counts_only_configured_managed_resources() -> None:
    assert not BerthConfiguration().policy().counting.counts
    assert configuration().policy().counting.resources == (LICENCE, MEMORY)


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param({"name": LICENCE}, id="allocatable of the same name"),
        pytest.param(
            {"name": LICENCE, "capacity": {"allocatable": "example.com/seats"}}, id="allocatable of another resource"
        ),
        pytest.param({"name": LICENCE, "capacity": {"nodeAnnotation": "licences"}}, id="a key without a prefix"),
        pytest.param({"name": LICENCE, "requests": {"podAnnotation": LICENCE}}, id="requests in an annotation"),
        pytest.param({"name": MEMORY, "devices": {"sizes": {"nodeLabel": "gpus"}}}, id="sizes in a label"),
        pytest.param({"name": MEMORY, "devices": {"count": COUNT, "size": SIZE}}, id="devices that are alike"),
        pytest.param(
            {
                "name": MEMORY,
                "devices": {"count": {"allocatable": "nvidia.com/gpu"}, "size": SIZE, "packing": "spread"},
            },
            id="device count from the device plugin",
        ),
        pytest.param({"name": LICENCE, "ignoredByScheduler": False}, id="a resource that the scheduler also checks"),
        pytest.param({"name": LICENCE, "capacity": {"value": 0}}, id="a constant, even 0"),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 4, "nodeSelector": {"gpu": "a100"}}, "ignoredByScheduler": False},
            id="a constant of some nodes",
        ),
        pytest.param({"name": LICENCE, "capacity": {"value": 4, "scope": "cluster"}}, id="a constant of the cluster"),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 4, "scope": ZONE, "values": {"a": 0}}},
            id="a constant for each value of a label, and another for one of them",
        ),
        pytest.param({"name": LICENCE, "perNamespace": 2}, id="a limit for each namespace"),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 4, "scope": "cluster"}, "perNamespace": 4},
            id="a limit for each namespace that equals the capacity",
        ),
        pytest.param(
            {"name": LICENCE, "capacity": {"value": 4, "scope": ZONE}, "perNamespace": 9},
            id="a limit for each namespace over several domains",
        ),
        pytest.param(
            {"name": MEMORY, "devices": {"sizes": {"nodeLabel": "gpus"}}, "perNamespace": 9},
            id="devices, and a limit for each namespace",
        ),
    ],
)
def test_accepts_valid_managed_resources(resource: dict[str, object]) -> None:
    assert configuration(resource).policy().counting.counts


@pytest.mark.parametrize(
    ("resources", "complaint"),
    [
        pytest.param([{"name": "licence"}], "managedResources.0.name: Input should be the name of a", id="no domain"),
        pytest.param(
            [{"name": "pods.kubernetes.io/x"}],
            "managedResources.0.name: Input should be",
            id="a resource of Kubernetes",
        ),
        pytest.param([LICENCES, LICENCES], "managedResources: example.com/licence is there more than once", id="twice"),
        pytest.param(
            [SLICES, {"name": "nvidia.com/gpumem-percentage"}],
            "managedResources: nvidia.com/gpumem-percentage is there more than once",
            id="a name used as percentage of another",
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {}}],
            "managedResources.0.capacity: Input should have exactly one of value, allocatable, nodeLabel, "
            "nodeAnnotation",
            id="a capacity without source",
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"nodeLabel": "a", "nodeAnnotation": "b"}}],
            "managedResources.0.capacity: Input should have exactly one of",
            id="a capacity from two sources",
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"nodeLabel": "a b"}}],
            "managedResources.0.capacity.nodeLabel: Input should be the key of a label or an annotation",
            id="no key",
        ),
        pytest.param(
            [{"name": MEMORY, "devices": {"count": COUNT}}],
            "managedResources.0.devices: Input should have either sizes, or count and size",
            id="devices without size",
        ),
        pytest.param(
            [{"name": MEMORY, "devices": {"sizes": {"nodeAnnotation": SIZES}, "count": COUNT, "size": SIZE}}],
            "managedResources.0.devices: Input should have either",
            id="devices defined twice",
        ),
        pytest.param(
            [{"name": MEMORY, "capacity": COUNT, "devices": {"count": COUNT, "size": SIZE}}],
            "managedResources.0: capacity is that of the devices",
            id="devices together with a capacity",
        ),
        pytest.param(
            [{"name": f"{'a' * 40}.example.com/{'b' * 30}", "devices": {"count": COUNT, "size": SIZE}}],
            "managedResources.0: name is too long for the annotation that names a pod's device (63 characters)",
            id="a name that cannot be an annotation",
        ),
        pytest.param(
            [
                {"name": "a.b/c", "devices": {"count": COUNT, "size": SIZE}},
                {"name": "a/b.c", "devices": {"count": COUNT, "size": SIZE}},
            ],
            "managedResources: a/b.c: another resource has the same annotation berth.dev/a.b.c",
            id="two names with the same annotation",
        ),
        pytest.param(
            [{**SLICES, "requests": {"podAnnotation": "x"}}],
            "managedResources.0: percentName is a request of containers",
            id="per cent, and requests in an annotation",
        ),
        pytest.param(
            [{**SLICES, "podLimit": 4000}],
            "managedResources.0: podLimit is an amount of units",
            id="per cent, and a limit in units",
        ),
        pytest.param(
            [{"name": LICENCE, "podLimit": 0}],
            "managedResources.0.podLimit: Input should be greater than or equal to 1",
            id="a limit that no pod can satisfy",
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"value": 4, "scope": "namespace"}}],
            "managedResources.0.capacity.scope: Input should be 'node', 'cluster' or a label's key; "
            "see also perNamespace",
            id="the namespace as scope",
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"value": -1, "scope": "cluster"}}],
            "managedResources.0.capacity.value: Input should be greater than or equal to 0",
            id="a negative constant",
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"value": MAX_AMOUNT + 1}}],
            "managedResources.0.capacity.value: Input should be less than or equal to 1000000000000000",
            id="a constant that is too large",
        ),
        *(
            pytest.param(
                [{"name": LICENCE, "capacity": {"value": value, "scope": "cluster"}}],
                "managedResources.0.capacity.value: Input should be a valid integer",
                id=f"a constant that is not a whole number: {value!r}",
            )
            for value in (1.5, "4", True)
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"value": 4, "nodeLabel": "seats"}}],
            "managedResources.0.capacity: Input should have exactly one of value, allocatable, nodeLabel, "
            "nodeAnnotation",
            id="a constant and a place on the node",
        ),
        *(
            pytest.param(
                [{"name": LICENCE, "capacity": {"nodeLabel": "seats", **field}}],
                "managedResources.0.capacity: scope and nodeSelector need a constant: give value",
                id=f"no constant with {', '.join(field)}",
            )
            for field in ({"scope": "cluster"}, {"scope": ZONE}, {"nodeSelector": {"gpu": "a100"}})
        ),
        *(
            pytest.param(
                [{"name": LICENCE, "capacity": {"value": 4, "scope": scope, "values": {"a": 2}}}],
                "managedResources.0.capacity: values need the key of a label as scope",
                id=f"values with the scope {scope}",
            )
            for scope in ("node", "cluster")
        ),
        *(
            pytest.param(
                [{"name": LICENCE, "capacity": {"value": 4, "scope": scope, "nodeSelector": {"gpu": "a100"}}}],
                "managedResources.0.capacity: nodeSelector needs the scope node",
                id=f"nodeSelector with the scope {scope}",
            )
            for scope in ("cluster", ZONE)
        ),
        *(
            pytest.param(
                [{"name": LICENCE, "capacity": {"value": 4, "scope": scope}, "ignoredByScheduler": False}],
                "managedResources.0: no node has a resource of this scope: ignoredByScheduler must be true",
                id=f"a resource of the scope {scope} that the scheduler also checks",
            )
            for scope in ("cluster", ZONE)
        ),
        pytest.param(
            [{"name": LICENCE, "capacity": {"value": 4, "scope": "cluster"}, "perNamespace": 5}],
            "managedResources.0: perNamespace is larger than the capacity, 4",
            id="a limit for each namespace above the capacity",
        ),
        pytest.param(
            [{**SLICES, "perNamespace": 4000}],
            "managedResources.0: perNamespace is an amount of units; give it or percentName",
            id="per cent, and a limit for each namespace",
        ),
        pytest.param(
            [{"name": f"example.com/r{number}"} for number in range(33)],
            "managedResources: Tuple should have at most 32 items",
            id="too many",
        ),
    ],
)
def test_error_names_the_invalid_field(resources: list[Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"managedResources": resources})
    [found] = validation_messages(caught.value)
    assert found.startswith(complaint)


# Capacity of nodes for counted resources.


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
