"""The status of a placed pod, as the kubelet and the controllers report it."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.demand import CPU, MEMORY
from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Feature
from tests.parity.generator.quantities import quantities

STARTS = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-03-01T12:00:00Z")
DELETION = "2026-06-01T00:00:00Z"


def running(draw: Draw, features: frozenset[Feature], spec: dict[str, Any]) -> dict[str, Any]:
    """Draw the status of a pod on a node, mostly running. The start times are few, so that they tie."""
    status: dict[str, Any] = {"phase": draw.weighted({"Running": 12, "Pending": 3, "Succeeded": 1, "Failed": 1})}
    if draw.chance(0.9):
        status["startTime"] = draw.one_of(STARTS)
    if Feature.RESIZE in features and draw.chance(0.4):
        _add_resize(draw, spec, status)
    return status


def terminate(draw: Draw, metadata: dict[str, Any], status: dict[str, Any], *, by_scheduler: float) -> None:
    """Mark a pod as being deleted, by the scheduler's preemption or by another component."""
    metadata["deletionTimestamp"] = DELETION
    metadata["deletionGracePeriodSeconds"] = 30
    if draw.chance(by_scheduler):
        reason = draw.weighted({"PreemptionByScheduler": 5, "EvictionByEvictionAPI": 1})
        value = draw.weighted({"True": 8, "False": 1})
        condition = {"type": "DisruptionTarget", "status": value, "reason": reason}
        status.setdefault("conditions", []).append(condition)


def _add_resize(draw: Draw, spec: dict[str, Any], status: dict[str, Any]) -> None:
    """Add resources that differ from the spec: a resize in progress, deferred or infeasible."""
    for containers, statuses in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        reported = [_container_status(draw, container) for container in spec.get(containers, []) if draw.chance(0.8)]
        if reported:
            status[statuses] = reported
    if "resources" in spec and draw.chance(0.7):
        status["resources"] = {"requests": _amounts(draw)}
        if draw.chance(0.7):
            status["allocatedResources"] = _amounts(draw)
    pending = draw.weighted({"": 3, "Infeasible": 2, "Deferred": 1})
    if pending:
        condition = {"type": "PodResizePending", "status": "True", "reason": pending}
        status.setdefault("conditions", []).append(condition)


def _container_status(draw: Draw, container: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": True,
        "restartCount": 0,
    }
    if draw.chance(0.85):
        status["resources"] = {"requests": _amounts(draw)} if draw.chance(0.9) else {}
    if draw.chance(0.7):
        status["allocatedResources"] = _amounts(draw)
    return status


def _amounts(draw: Draw) -> dict[str, str]:
    amounts = {"cpu": draw.one_of(CPU), "memory": draw.one_of(MEMORY)}
    return quantities(draw, {name: amounts[name] for name in draw.some_of(list(amounts), 1, 2)})
