"""The section `managedResources` of the configuration: counted resources, and the sources of capacities and requests.

The resource names are those of the extender's `managedResources` in KubeSchedulerConfiguration.

With the Binding, bind writes an annotation for each resource with devices. Its value is the index of the pod's device.
A container can read it from its environment (downward API).
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
from berth.scheduling.managed_resources.pools import (
    CLUSTER,
    MAX_DEVICES,
    MAX_NAME,
    NAMESPACE,
    annotation_of,
    pool_of,
)
from berth.scheduling.objects.node import NodeInfo

MAX_AMOUNT = 10**15
"""The largest amount: a sum of a thousand amounts fits into 64 bits, and real resources do not have more units."""

NOT_A_QUANTITY = "is not a quantity"
NEGATIVE = "is negative"
TOO_LARGE = "is larger than 10^15"

_LARGEST = Quantity(MAX_AMOUNT)


@dataclass(frozen=True, slots=True)
class NoAmount:
    """A value that is not an amount. cause: a constant text (fact 17)."""

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
    """The choice of a device. best-fit: the device with the least room that is enough. spread: the device with the most
    room."""

    BEST_FIT = "best-fit"
    SPREAD = "spread"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class NodeSource(_Document):
    """The field of a node that has the amount: exactly one of an allocatable resource, a label and an annotation."""

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


NODE = "node"


def _scope(scope: str) -> str:
    if scope == NAMESPACE:
        raise PydanticCustomError("scope", "Input should be 'node', 'cluster' or a label's key; see also perNamespace")
    return _key(scope)


Amount = Annotated[int, Field(ge=0, le=MAX_AMOUNT, strict=True)]
LabelValue = Annotated[str, Field(min_length=1, max_length=63)]


class Capacity(NodeSource):
    """The capacity of a resource without devices: a field of the node, or a constant.

    value: a constant number of units. scope: `value` units exist on each node (`node`), in the whole cluster
    (`cluster`), or for each value of a label (the label's key). values: numbers that replace `value`, by the value of
    that label. nodeSelector: the nodes that have the constant; by default all nodes.
    """

    value: Amount | None = None
    scope: Annotated[str, AfterValidator(_scope)] = NODE
    values: dict[LabelValue, Amount] = Field(default_factory=dict)
    node_selector: dict[Key, str] = Field(default_factory=dict, alias="nodeSelector")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        places = (self.allocatable, self.node_label, self.node_annotation)
        if sum(each is not None for each in (*places, self.value)) != 1:
            raise PydanticCustomError(
                "node_source", "Input should have exactly one of value, allocatable, nodeLabel, nodeAnnotation"
            )
        if self.value is None and (self.scope != NODE or self.node_selector):
            raise PydanticCustomError("capacity", "scope and nodeSelector need a constant: give value")
        if self.values and self.scope in (NODE, CLUSTER):
            raise PydanticCustomError("capacity", "values need the key of a label as scope")
        if self.node_selector and self.scope != NODE:
            raise PydanticCustomError("capacity", "nodeSelector needs the scope node")
        return self

    def of(self, node: NodeInfo) -> int | NoAmount:
        """Return the node's own capacity, without floating pools; NoAmount if it cannot be read."""
        if self.value is None:
            return _amount(self, node)
        has_labels = all(node.labels.get(key) == value for key, value in self.node_selector.items())
        return self.value if self.scope == NODE and has_labels else 0

    def of_domain(self, domain: str) -> int:
        """Return the capacity of a domain, such as `cluster` or `zone=a`; 0 if the scope differs."""
        key, _, value = domain.partition("=")
        return 0 if key != self.scope or self.value is None else self.values.get(value, self.value)


class SizesSource(_Document):
    """The field that lists a node's device sizes: a label (separated by underscores) or an annotation (by commas)."""

    node_label: Key | None = Field(default=None, alias="nodeLabel")
    node_annotation: Key | None = Field(default=None, alias="nodeAnnotation")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.node_label is None) is (self.node_annotation is None):
            raise PydanticCustomError("sizes_source", "Input should have exactly one of nodeLabel, nodeAnnotation")
        return self


class PodSource(_Document):
    """An annotation with the amount that a pod requests, instead of its containers' requests."""

    pod_annotation: Key = Field(alias="podAnnotation")


class Devices(_Document):
    """The devices of a resource. The whole amount for one pod comes from one device.

    Set either `sizes`, or `count` and `size`. percentName: the resource name by which a pod requests a percentage of a
    device.
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

    capacity: by default the node's allocatable of the same name. perNamespace: another limit, the maximum of units for
    all pods of one namespace. requests: by default the containers' requests. podLimit: the maximum of units that one
    pod may request; by default the capacity of the node, or of the device. ignoredByScheduler: as in
    KubeSchedulerConfiguration; if true, NodeResourcesFit does not check the resource.
    """

    name: ResourceName
    capacity: Capacity | None = None
    per_namespace: int | None = Field(default=None, alias="perNamespace", ge=1, le=MAX_AMOUNT, strict=True)
    requests: PodSource | None = None
    devices: Devices | None = None
    pod_limit: int | None = Field(default=None, alias="podLimit", ge=1, le=MAX_AMOUNT, strict=True)
    ignored_by_scheduler: bool = Field(default=True, alias="ignoredByScheduler", strict=True)

    @property
    def scope(self) -> str:
        """The scope of the capacity: `node`, `cluster` or the key of a label."""
        return NODE if self.capacity is None else self.capacity.scope

    @property
    def is_floating(self) -> bool:
        return self.scope != NODE

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.is_floating and not self.ignored_by_scheduler:
            raise PydanticCustomError(
                "floating", "no node has a resource of this scope: ignoredByScheduler must be true"
            )
        most = self.capacity.value if self.capacity is not None and self.scope == CLUSTER else None
        if most is not None and self.per_namespace is not None and self.per_namespace > most:
            raise PydanticCustomError(
                "per_namespace", "perNamespace is larger than the capacity, {value}", {"value": most}
            )
        if self.devices is None:
            return self
        if self.per_namespace is not None and self.devices.percent_name is not None:
            raise PydanticCustomError("per_namespace", "perNamespace is an amount of units; give it or percentName")
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
        """Yield the fields of a node that state the capacity. Without such fields, the capacity is the
        node's allocatable of the same name."""
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
    """Return the node's capacity by pool, without amounts of 0; empty if the node does not state a capacity."""
    if resource.devices is None:
        source = resource.capacity
        found = bounded(node.allocatable.get(resource.name, 0)) if source is None else source.of(node)
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
