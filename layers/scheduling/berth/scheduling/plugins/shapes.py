"""What a plugin reads of a pod, as a key that takes little time to hash.

Pods of different controllers often have equal tolerations, ports, images or requests, and share what is remembered of
them. A pod with very many shares nothing: its spec stands for them, which is compared by identity.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from berth.scheduling.objects import Pod

FEW = 32

C = TypeVar("C", bound=Collection[object])


def small(part: C, pod: Pod) -> C | Hashable:
    """This part of the pod's spec; the spec itself where the part has many elements."""
    return part if len(part) <= FEW else pod.spec


def amounts_shape(amounts: Mapping[str, int], pod: Pod) -> Hashable:
    return tuple(amounts.items()) if len(amounts) <= FEW else pod.spec


def tolerations_shape(pod: Pod) -> Hashable:
    return small(pod.spec.tolerations, pod)
