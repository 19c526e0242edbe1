"""`managedResources` of the configuration: the counted resources, and the sources of capacities and requests.

The names equal the names in an extender's `managedResources` in KubeSchedulerConfiguration.

A pool is the unit of counting: a resource, or one of its devices. With the Binding, bind writes an annotation for each
resource with devices. Its value is only a number, which a container can read from its environment (downward API).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from berth.scheduling.fields.quantity import ZERO, Quantity, quantity
from berth.scheduling.fields.resources import is_extended
from berth.scheduling.objects.node import NodeInfo

Shares = Mapping[str, int]
"""Maps a pool to an amount above 0."""

PREFIX = "berth.dev/"
MAX_NAME = 63
"""The maximum length of an annotation's key after its prefix."""

MAX_DEVICES = 256
"""The maximum number of devices of one resource on a node: all devices must fit into one item of the ledger."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,3}", re.ASCII)


def annotation_of(resource: str) -> str:
    """Return the key of the resource's device annotation. A key may have one slash, which is in the prefix."""
    return PREFIX + resource.replace("/", ".")


def pool_of(resource: str, index: int) -> str:
    return f"{resource}#{index}"


def device_of(pool: str) -> tuple[str, int] | None:
    """Return the resource and device of a pool; None for a pool without devices. Resource names cannot contain `#`."""
    resource, separator, index = pool.partition("#")
    return (resource, int(index)) if separator else None


def resource_of(pool: str) -> str:
    return pool.partition("#")[0]


def devices_in(shares: Shares) -> Mapping[str, int]:
    return dict(found for pool in shares if (found := device_of(pool)) is not None)


def index_in(value: object) -> int | None:
    """Return the index of the device that an annotation names; None if the value does not name a device."""
    if not isinstance(value, str) or _INDEX.fullmatch(value) is None or int(value) >= MAX_DEVICES:
        return None
    return int(value)


MAX_AMOUNT = 10**15
"""The largest amount: a sum of a thousand amounts fits into 64 bits, and real resources do not have more units."""

NOT_A_QUANTITY = "is not a quantity"
NEGATIVE = "is negative"
TOO_LARGE = "is larger than 10^15"

_LARGEST = Quantity(MAX_AMOUNT)


@dataclass(frozen=True, slots=True)
class NoAmount:
    """A value that is not an amount; `cause` does not depend on the value (fact 17)."""

    cause: str


@lru_cache(maxsize=4096)
def amount_in(text: str) -> int | NoAmount:
    """Parse a text as whole units. An empty text is not a quantity."""
    found = quantity(text)
    if found is None:
        return NoAmount(NOT_A_QUANTITY)
    if ZERO.exceeds(found):
        return NoAmount(NEGATIVE)
    # Compare before rounding: beyond 64 bits the rounded number is arbitrary.
    return NoAmount(TOO_LARGE) if found.exceeds(_LARGEST) else found.value()


def bounded(units: int) -> int | NoAmount:
    if units < 0:
        return NoAmount(NEGATIVE)
    return NoAmount(TOO_LARGE) if units > MAX_AMOUNT else units


MAX_RESOURCES = 32

_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)


def _resource(name: str) -> str:
    """Validate a name by kube-scheduler's rules for an extender's `managedResources` (fact 46)."""
    if not is_extended(name):
        raise PydanticCustomError(
            "resource_name",
            "Input should be the name of a resource with a domain that is not kubernetes.io, "
            "such as 'example.com/licence'",
        )
    return name


def _key(key: str) -> str:
    if _KEY.fullmatch(key) is None:
        raise PydanticCustomError("key", "Input should be the key of a label or an annotation")
    return key


ResourceName = Annotated[str, AfterValidator(_resource), WithJsonSchema({"type": "string", "pattern": "/"})]
Key = Annotated[str, AfterValidator(_key), WithJsonSchema({"type": "string", "pattern": f"^{_KEY.pattern}$"})]


class Packing(StrEnum):
    """Of the devices with enough room, best-fit uses the one with the least room, and spread the one with the most."""

    BEST_FIT = "best-fit"
    SPREAD = "spread"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NodeSource(_Document):
    """The place of an amount on a node: exactly one of a resource of its allocatable, a label and an annotation."""

    allocatable: ResourceName | None = None
    node_label: Key | None = Field(default=None, alias="nodeLabel")
    node_annotation: Key | None = Field(default=None, alias="nodeAnnotation")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(each is not None for each in (self.allocatable, self.node_label, self.node_annotation)) != 1:
            raise PydanticCustomError(
                "node_source", "Input should have exactly one of allocatable, nodeLabel, nodeAnnotation"
            )
        return self


class SizesSource(_Document):
    """The list of a node's device sizes: in a label (separated by underscores) or an annotation (by commas)."""

    node_label: Key | None = Field(default=None, alias="nodeLabel")
    node_annotation: Key | None = Field(default=None, alias="nodeAnnotation")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.node_label is None) is (self.node_annotation is None):
            raise PydanticCustomError("sizes_source", "Input should have exactly one of nodeLabel, nodeAnnotation")
        return self


class PodSource(_Document):
    """An annotation with the amount that a pod asks for, instead of its containers' requests."""

    pod_annotation: Key = Field(alias="podAnnotation")


class Devices(_Document):
    """The resource is divided into devices; the whole amount for one pod comes from one of them.

    Either `sizes`, or `count` and `size`. percentName: a resource by which a pod asks for a percentage of a device.
    """

    sizes: SizesSource | None = None
    count: NodeSource | None = None
    size: NodeSource | None = None
    packing: Packing = Packing.BEST_FIT
    percent_name: ResourceName | None = Field(default=None, alias="percentName")

    @model_validator(mode="after")
    def _has_sizes(self) -> Self:
        listed, alike = self.sizes is not None, (self.count is not None, self.size is not None)
        if alike != ((not listed,) * 2):
            raise PydanticCustomError("devices", "Input should have either sizes, or count and size")
        return self


class ManagedResource(_Document):
    """A resource that Berth counts.

    capacity: by default the node's allocatable of the same name. requests: by default those of the containers.
    podLimit: the most units that one pod may ask for; by default the capacity of the node, or of the device.
    ignoredByScheduler: as in KubeSchedulerConfiguration; if true, NodeResourcesFit does not check the resource.
    """

    name: ResourceName
    capacity: NodeSource | None = None
    requests: PodSource | None = None
    devices: Devices | None = None
    pod_limit: int | None = Field(default=None, alias="podLimit", ge=1, le=MAX_AMOUNT, strict=True)
    ignored_by_scheduler: bool = Field(default=True, alias="ignoredByScheduler", strict=True)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.devices is None:
            return self
        if self.capacity is not None:
            raise PydanticCustomError("devices", "capacity is that of the devices; give either of them")
        if len(annotation_of(self.name).partition("/")[2]) > MAX_NAME:
            raise PydanticCustomError(
                "resource_name",
                "name is too long for the annotation that names a pod's device ({length} characters)",
                {"length": MAX_NAME},
            )
        if self.devices.percent_name is not None and self.requests is not None:
            raise PydanticCustomError(
                "percent_name", "percentName is a request of containers; requests are annotations"
            )
        if self.devices.percent_name is not None and self.pod_limit is not None:
            raise PydanticCustomError("pod_limit", "podLimit is an amount of units; give either of it and percentName")
        return self

    @property
    def names(self) -> Iterator[str]:
        yield self.name
        if self.devices is not None and self.devices.percent_name is not None:
            yield self.devices.percent_name

    @property
    def sources(self) -> Iterator[NodeSource | SizesSource]:
        """Yield where a node states the capacity; nothing for its allocatable of the same name."""
        devices = self.devices
        found = (self.capacity,) if devices is None else (devices.sizes, devices.count, devices.size)
        yield from (each for each in found if each is not None)


def _each_once(resources: tuple[ManagedResource, ...]) -> tuple[ManagedResource, ...]:
    names: set[str] = set()
    annotations: set[str] = set()
    for resource in resources:
        for name in resource.names:
            if name in names:
                raise PydanticCustomError("repeated", "{name} is there more than once", {"name": name})
            names.add(name)
        if resource.devices is None:
            continue
        annotation = annotation_of(resource.name)
        if annotation in annotations:
            raise PydanticCustomError(
                "repeated",
                "{name}: another resource has the same annotation {annotation}",
                {"name": resource.name, "annotation": annotation},
            )
        annotations.add(annotation)
    return resources


ManagedResources = Annotated[tuple[ManagedResource, ...], Field(max_length=MAX_RESOURCES), AfterValidator(_each_once)]


TOO_MANY_DEVICES = f"has more than {MAX_DEVICES} devices"


def capacity_of(resource: ManagedResource, node: NodeInfo) -> Mapping[str, int] | NoAmount:
    """Return amounts above 0, by pool; empty if the node does not state a capacity."""
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
    # A label's value cannot contain a comma.
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
