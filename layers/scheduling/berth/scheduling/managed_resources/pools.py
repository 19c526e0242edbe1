"""The names of pools. A pool is the unit of counting: a resource, or one of its devices, in one domain.

| pool | domain |
|---|---|
| `RESOURCE`, `RESOURCE#2` | a node; `#2` is its device with the index 2 |
| `RESOURCE@cluster` | the cluster |
| `RESOURCE@KEY=VALUE` | the nodes with this label |
| `RESOURCE@namespace=NAME` | the pods of this namespace |

A pool with `@` is floating: it does not belong to a node. Its name is unique in the cluster, so it has its own ledger,
under this name. The names of resources and nodes contain neither `#` nor `@`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

Shares = Mapping[str, int]
"""Amounts above 0, by pool."""

PREFIX = "berth.dev/"
MAX_NAME = 63
"""The maximum length of an annotation's key after its prefix."""

MAX_DEVICES = 256
"""The maximum number of devices of one resource on a node: all devices must fit into one item of the ledger."""

CLUSTER = "cluster"
NAMESPACE = "namespace"

_INDEX = re.compile(r"0|[1-9][0-9]{0,3}", re.ASCII)


def annotation_of(resource: str) -> str:
    """Return the key of the resource's device annotation. A key may have one slash, which is in the prefix."""
    return PREFIX + resource.replace("/", ".")


def pool_of(resource: str, index: int) -> str:
    return f"{resource}#{index}"


def cluster_pool(resource: str) -> str:
    return f"{resource}@{CLUSTER}"


def label_pool(resource: str, key: str, value: str) -> str:
    return f"{resource}@{key}={value}"


def namespace_pool(resource: str, namespace: str) -> str:
    # This name is unambiguous: `capacity.scope` does not accept a label with the key `namespace`.
    return label_pool(resource, NAMESPACE, namespace)


def is_floating(pool: str) -> bool:
    """Return whether this is the name of a floating pool, and not of a node or of a node's pool."""
    return "@" in pool


def limits_namespace(pool: str) -> bool:
    """Return whether the pool is a limit of one namespace. Its resource also has a capacity."""
    return domain_of(pool).startswith(f"{NAMESPACE}=")


def domain_of(pool: str) -> str:
    """Return the domain of a floating pool, such as `cluster` or `namespace=team-a`; empty for a node's pool."""
    return pool.partition("@")[2]


def device_of(pool: str) -> tuple[str, int] | None:
    """Return the resource and the index of the device; None if the pool is not a device."""
    resource, separator, index = pool.partition("#")
    return (resource, int(index)) if separator else None


def resource_of(pool: str) -> str:
    return pool.partition("@")[0].partition("#")[0]


def devices_in(shares: Shares) -> Mapping[str, int]:
    return dict(found for pool in shares if (found := device_of(pool)) is not None)


def left(capacity: Mapping[str, int], used: Mapping[str, int]) -> Mapping[str, int]:
    """Return the free amount of each pool, not below 0."""
    return {pool: max(0, amount - used.get(pool, 0)) for pool, amount in capacity.items()}


def add(total: dict[str, int], shares: Shares, sign: int = 1) -> None:
    """Add the shares to the total, or subtract them."""
    for pool, amount in shares.items():
        total[pool] = total.get(pool, 0) + sign * amount


def by_owner(shares: Shares, node: str) -> Mapping[str, Shares]:
    """Return the shares by the owner of their ledger: the node, or the floating pool itself."""
    found: dict[str, dict[str, int]] = {}
    for pool, amount in shares.items():
        found.setdefault(pool if is_floating(pool) else node, {})[pool] = amount
    return found


def index_in(value: object) -> int | None:
    """Return the index of the device that an annotation names; None if the value does not name a device."""
    if not isinstance(value, str) or _INDEX.fullmatch(value) is None or int(value) >= MAX_DEVICES:
        return None
    return int(value)
