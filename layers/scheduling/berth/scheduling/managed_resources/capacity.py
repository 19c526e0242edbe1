"""What a node has of a counted resource, by what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping

from berth.scheduling.managed_resources.configuration import (
    MAX_DEVICES,
    Devices,
    ManagedResource,
    NoAmount,
    NodeSource,
    SizesSource,
    amount_in,
    bounded,
    pool_of,
)
from berth.scheduling.objects.node import NodeInfo

TOO_MANY_DEVICES = f"has more than {MAX_DEVICES} devices"


def capacity_of(resource: ManagedResource, node: NodeInfo) -> Mapping[str, int] | NoAmount:
    """By pool, amounts above 0. A node that says nothing has nothing."""
    if resource.devices is None:
        source = resource.capacity
        found = bounded(node.allocatable.get(resource.name, 0)) if source is None else _amount(source, node)
        if isinstance(found, NoAmount):
            return found
        return {resource.name: found} if found else {}
    sizes = _sizes(resource.devices, node)
    if isinstance(sizes, NoAmount):
        return sizes
    return {pool_of(resource.name, index): size for index, size in enumerate(sizes) if size}


def _sizes(devices: Devices, node: NodeInfo) -> list[int] | NoAmount:
    if devices.sizes is not None:
        return _listed(devices.sizes, node)
    if devices.count is None or devices.size is None:
        return []
    count = _amount(devices.count, node)
    if isinstance(count, NoAmount):
        return count
    if count > MAX_DEVICES:
        return NoAmount(TOO_MANY_DEVICES)
    size = _amount(devices.size, node)
    return size if isinstance(size, NoAmount) else [size] * count


def _listed(source: SizesSource, node: NodeInfo) -> list[int] | NoAmount:
    # A label can hold no comma.
    text, separator = (
        (node.annotations.get(source.node_annotation), ",")
        if source.node_annotation is not None
        else (node.labels.get(source.node_label or ""), "_")
    )
    if text is None or not text.strip():
        return []
    if text.count(separator) >= MAX_DEVICES:
        return NoAmount(TOO_MANY_DEVICES)
    sizes = []
    for part in text.split(separator):
        size = amount_in(part)
        if isinstance(size, NoAmount):
            return size
        sizes.append(size)
    return sizes


def _amount(source: NodeSource, node: NodeInfo) -> int | NoAmount:
    if source.allocatable is not None:
        return bounded(node.allocatable.get(source.allocatable, 0))
    if source.node_label is not None:
        text = node.labels.get(source.node_label)
    else:
        text = node.annotations.get(source.node_annotation or "")
    return 0 if text is None else amount_in(text)
