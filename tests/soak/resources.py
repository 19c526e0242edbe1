"""What the nodes of the soak have, what its pods ask for, and what owners write into annotations."""

from __future__ import annotations

from collections.abc import Mapping

from berth.pods import Binding
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.managed_resources.configuration import annotation_of, pool_of
from tests.simulation.reservations.binds import GPU_MEMORY, LICENCE

SEAT, SEATS = "example.com/seat", "example.com/seats"
"""A resource, and the annotation that requests it."""

DEVICE = annotation_of(GPU_MEMORY)
FORGED_SEATS: tuple[str | None, ...] = ("0", "1", "100", "none", None)
FORGED: tuple[str | None, ...] = ("0", "1", "200", "none", None)
"""The device of another pod or its own, one that no node has, no number, no annotation."""

ASKED: tuple[Mapping[str, str], ...] = (
    {LICENCE: "1"},
    {GPU_MEMORY: "3000"},
    {GPU_MEMORY: "2000", LICENCE: "1"},
    {SEAT: "2"},
    {SEAT: "1", GPU_MEMORY: "1000"},
)
FOREIGN: tuple[Mapping[str, str], ...] = ({LICENCE: "1P"}, {GPU_MEMORY: "6000"}, {SEAT: "100"})
FOREIGN_SHARE = 0.02
"""Of the pods."""

CAPACITY = {LICENCE: 4, SEAT: 4, f"{GPU_MEMORY}#0": 8000, f"{GPU_MEMORY}#1": 8000}
COUNTING = (
    BerthConfiguration.model_validate(
        {
            "managedResources": [
                {"name": LICENCE},
                {"name": SEAT, "requests": {"podAnnotation": SEATS}},
                {"name": GPU_MEMORY, "devices": {"sizes": {"nodeAnnotation": "example.com/gpus"}}},
            ]
        }
    )
    .policy()
    .counting
)


def shares_of(asked: Mapping[str, str], binding: Binding) -> Mapping[str, int]:
    """What a pod that asks for this takes of its node, with the device that its Binding names."""
    device = binding.annotations.get(DEVICE)
    return {
        pool_of(GPU_MEMORY, int(device)) if name == GPU_MEMORY and device else name: int(amount)
        for name, amount in asked.items()
    }
