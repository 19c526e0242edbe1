"""Resource amounts of nodes and pods: as exact quantities, and as the scheduler's integers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from berth.scheduling.fields.quantity import ZERO, Quantity, quantity
from berth.scheduling.fields.reading import MalformedField, read_object

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE)
MEBIBYTE = 1 << 20

Amounts = Mapping[str, int]
"""Amounts by resource name: thousandths of cpu, or whole units of other resources. Zeros are left out."""

ResourceList = dict[str, Quantity]

_HUGE_PAGES = "hugepages-"
_VOLUMES = "attachable-volumes-"
_KUBERNETES = "kubernetes.io/"
_QUOTA = "requests."
_QUALIFIED = re.compile(
    r"(?P<prefix>[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)"
    r"/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
    re.ASCII,
)
_REMEMBERED_LENGTH = 32
_MAX_PREFIX = 253 - len(_QUOTA)
_MAX_NAME = _MAX_PREFIX + 1 + 63


def read_resource_list(value: object, path: str) -> ResourceList:
    """Read quantities by resource name; null counts as an empty list. Raises MalformedField."""
    found: ResourceList = {}
    for name, amount in read_object(value, path).items():
        parsed = quantity(amount)
        if not isinstance(name, str) or parsed is None:
            raise MalformedField(f"{path} has a quantity that cannot be parsed")
        found[name] = parsed
    return found


def read_counted(value: object, path: str) -> tuple[dict[str, int], int]:
    """Read the amounts that the scheduler counts (see `counted`), and the number of allowed pods. Raises
    MalformedField. The parsed texts are cached, because nodes have few different amounts."""
    found, pods = {}, 0
    for name, amount in read_object(value, path).items():
        if isinstance(amount, str) and len(amount) <= _REMEMBERED_LENGTH:
            units = _units_of_text(amount, name == CPU)
        else:
            units = _units_or_none(amount, name == CPU)
        if units is None or not isinstance(name, str):
            raise MalformedField(f"{path} has a quantity that cannot be parsed")
        if name == PODS:
            pods = units
        elif units and _is_counted(name):
            found[name] = units
    return found, pods


def _units_or_none(amount: object, milli: bool) -> int | None:
    parsed = quantity(amount)
    if parsed is None:
        return None
    return parsed.milli_value() if milli else parsed.value()


_units_of_text = lru_cache(maxsize=4096)(_units_or_none)


def add(total: ResourceList, more: ResourceList) -> None:
    for name, amount in more.items():
        total[name] = total[name].plus(amount) if name in total else amount


def raise_to(total: ResourceList, other: ResourceList) -> None:
    for name, amount in other.items():
        if name not in total or amount.exceeds(total[name]):
            total[name] = amount


def counted(amounts: ResourceList) -> dict[str, int]:
    """Return the amounts that the scheduler counts: no zeros, and no unknown resources such as `storage`."""
    found = {}
    for name, amount in amounts.items():
        if _is_counted(name):
            units = units_of(name, amount)
            if units:
                found[name] = units
    return found


@lru_cache(maxsize=1024)
def _is_counted(name: str) -> bool:
    return name in NATIVE or is_scalar(name)


def units_of(name: str, amount: Quantity) -> int:
    """Return the amount in thousandths of cpu, or in whole units of another resource, rounded up."""
    return amount.milli_value() if name == CPU else amount.value()


def shown_amount(name: str, units: int) -> str:
    if name == CPU:
        return str(units // 1000) if units % 1000 == 0 else f"{units}m"
    if name in (MEMORY, EPHEMERAL_STORAGE):
        for suffix, size in (("Gi", MEBIBYTE << 10), ("Mi", MEBIBYTE)):
            if units % size == 0:
                return f"{units // size}{suffix}"
    return str(units)


def amount_of(name: str, amounts: ResourceList) -> int:
    """Return the units of one resource; 0 if it is absent."""
    return units_of(name, amounts.get(name, ZERO))


def is_scalar(name: str) -> bool:
    """Return whether the scheduler counts the resource in addition to cpu, memory and ephemeral-storage."""
    return name.startswith((_HUGE_PAGES, _VOLUMES)) or _KUBERNETES in name or is_extended(name)


def is_extended(name: str) -> bool:
    """Return whether this names an extended resource: it has a domain other than kubernetes.io as its prefix."""
    if _KUBERNETES in name or name.startswith(_QUOTA) or len(name) > _MAX_NAME:
        return False
    found = _QUALIFIED.fullmatch(name)
    return found is not None and len(found["prefix"]) <= _MAX_PREFIX


def is_pod_level(name: str) -> bool:
    """Return whether a pod may request the resource at pod level (`spec.resources`)."""
    return name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)
