"""The part of a pod that a plugin reads, as a key that takes little time to hash.

Pods of different controllers often have equal tolerations, ports, images or requests, and share the results cached for
them. A pod with very many does not share: its spec is the key, and is compared by identity.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from berth.scheduling.objects import Pod

FEW = 32

C = TypeVar("C", bound=Collection[object])


def small(part: C, pod: Pod) -> C | Hashable:
    """Return this part of the pod's spec, or the spec itself if the part has many elements."""
    return part if len(part) <= FEW else pod.spec


def amounts_shape(amounts: Mapping[str, int], pod: Pod) -> Hashable:
    return tuple(amounts.items()) if len(amounts) <= FEW else pod.spec


def tolerations_shape(pod: Pod) -> Hashable:
    return small(pod.spec.tolerations, pod)
