"""`managedResources` of the configuration: what may stand there."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration, validation_messages
from tests.builders.counted import LICENCE, LICENCES, MEMORY, SIZES, SLICES, configuration

COUNT = {"nodeLabel": "nvidia.com/gpu.count"}
SIZE = {"nodeLabel": "nvidia.com/gpu.memory"}


def test_does_not_count_anything_without_managed_resources() -> None:
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
    ],
)
def test_accepts_valid_entries(resource: dict[str, object]) -> None:
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
            "managedResources.0.capacity: Input should have exactly one of allocatable, nodeLabel, nodeAnnotation",
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
            [{"name": f"example.com/r{number}"} for number in range(33)],
            "managedResources: Tuple should have at most 32 items",
            id="too many",
        ),
    ],
)
def test_error_names_invalid_field(resources: list[Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        BerthConfiguration.model_validate({"managedResources": resources})
    [found] = validation_messages(caught.value)
    assert found.startswith(complaint)
