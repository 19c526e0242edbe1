"""Pools, and the annotation with the device of a pod.

A pool is what is counted: a resource, or one of its devices. The annotation is written by bind with the Binding, one
for each resource with devices, so that a container can have the bare number in its environment (downward API).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Shares = Mapping[str, int]
"""By pool, an amount above 0."""

PREFIX = "berth.dev/"
MAX_NAME = 63
"""Characters of an annotation's key after its prefix."""

MAX_DEVICES = 256
"""Of one resource on one node: all devices must fit into one item of the ledger."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,3}", re.ASCII)


def annotation_of(resource: str) -> str:
    """The annotation for the device of this resource. A key has one slash, and the prefix has it."""
    return PREFIX + resource.replace("/", ".")


def pool_of(resource: str, index: int) -> str:
    """The pool of one device."""
    return f"{resource}#{index}"


def device_of(pool: str) -> tuple[str, int] | None:
    """Resource and device of a pool; None for one without devices. No name of a resource has a `#`."""
    resource, separator, index = pool.partition("#")
    return (resource, int(index)) if separator else None


def resource_of(pool: str) -> str:
    """The resource of a pool."""
    return pool.partition("#")[0]


def devices_in(shares: Shares) -> Mapping[str, int]:
    """By resource, the device that the shares are of."""
    return dict(found for pool in shares if (found := device_of(pool)) is not None)


def index_in(value: object) -> int | None:
    """The device that an annotation names; None for what names none."""
    if not isinstance(value, str) or _INDEX.fullmatch(value) is None or int(value) >= MAX_DEVICES:
        return None
    return int(value)
