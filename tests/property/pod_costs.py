"""What any pod that the API server takes costs filter and prioritize under `full`: calls of functions, and bytes."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

import orjson

from tests.bench.calls import Environment, Verb
from tests.bench.cluster import Manifest
from tests.builders.unread_fields import UNREAD_FIELDS

MOST_CALLS_PER_NODE = 300
MOST_CALLS_PER_BYTE = 3
"""Calls of functions, those in C included. What takes an item from a list at least takes some bytes of it."""

MOST_ALLOCATED_PER_BYTE = 4
MOST_ALLOCATED_PER_NODE = 1_000
"""Bytes at once, after the event is decoded. The parts are copies of the text; objects of all values would take 20
bytes and more for each of the text."""

ASKED: tuple[Verb, ...] = ("filter", "prioritize")


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a call of a verb with a new shape (cold) and with a known one (warm). size: of the pod, in bytes."""

    verb: Verb
    size: int
    calls_cold: int
    calls_warm: int

    @staticmethod
    def bound(nodes: int, size: int) -> int:
        """The most calls."""
        return MOST_CALLS_PER_NODE * nodes + MOST_CALLS_PER_BYTE * size


@dataclass(frozen=True, slots=True)
class UnreadCost:
    """Of a warm call. size: of the pod. allocated: bytes at once."""

    kind: str
    verb: Verb
    size: int
    allocated: int

    @staticmethod
    def bound(nodes: int, size: int) -> int:
        """The most bytes."""
        return MOST_ALLOCATED_PER_NODE * nodes + MOST_ALLOCATED_PER_BYTE * size


def _calls(environment: Environment) -> int:
    number = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    gc.collect()
    sys.setprofile(count)
    try:
        environment.answer()
    finally:
        sys.setprofile(None)
    return number


class Verbs:
    """filter and prioritize on a cluster of that many nodes."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes

    def costs(self, pod: Manifest) -> Iterator[Cost]:
        """What this pod costs each verb."""
        size = len(orjson.dumps(pod))
        for verb in ASKED:
            environment = Environment(verb, "full", pod, self._nodes)
            yield Cost(verb, size, _calls(environment), _calls(environment))

    def unread(self, kind: str, verb: Verb, size: int) -> UnreadCost:
        """What a pod costs that differs from the one before in these unread fields only."""
        pods = [UNREAD_FIELDS[kind](number, size) for number in range(5)]
        environment = Environment(verb, "full", pods[0], self._nodes)
        environment.answer()
        for pod in pods[1:-1]:
            environment.replace_pod(pod)
            environment.answer()
        environment.replace_pod(pods[-1])
        event = environment.next_event()
        tracemalloc.start()
        try:
            environment.handle(event)
            _, allocated = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return UnreadCost(kind, verb, len(orjson.dumps(pods[-1])), allocated)
