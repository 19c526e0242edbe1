"""The extender under test, and direct calls of its verbs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeVar

import pytest

from .endpoint import Endpoint

T = TypeVar("T")

# Parameters of fixtures for tests that run on `berth serve` and on the deployed stack.
SERVE_AND_STACK = ("serve", pytest.param("stack", marks=pytest.mark.stack))

POLL_SECONDS = 0.1
# A deployed watcher may start only once a minute.
CACHE_SECONDS = 90

PROBE: Mapping[str, Any] = {
    "metadata": {"name": "probe", "namespace": "default", "uid": "probe"},
    "spec": {},
    "status": {},
}
"""A pod without requests."""


class Extender(Protocol):
    @property
    def url_prefix(self) -> str:
        """Return the `urlPrefix` for a KubeSchedulerConfiguration; it may contain credentials."""


class ExtenderCache:
    """The content of the extender's node cache, observed through its verbs."""

    def __init__(self, extender: Extender) -> None:
        self._endpoint = Endpoint(extender.url_prefix)

    def wait_for_scores(self, scores: Mapping[str, int]) -> None:
        self._wait_for(dict(scores), lambda: self._scores(list(scores)))

    def wait_for_reasons(self, reasons: Mapping[str, str], *, of: Mapping[str, Any] = PROBE) -> None:
        """Wait until filter rejects these nodes as unresolvable for these reasons. of: the pod of the request."""
        self._wait_for(dict(reasons), lambda: self._rejections(of, list(reasons)))

    def wait_for_feasible(self, nodes: Collection[str], *, of: Mapping[str, Any] = PROBE) -> None:
        self._wait_for(
            dict.fromkeys(nodes, True),
            lambda: dict.fromkeys((self._ask("filter", list(nodes), of) or {}).get("NodeNames") or (), True),
        )

    def _scores(self, nodes: list[str]) -> dict[str, int]:
        return {entry["Host"]: entry["Score"] for entry in self._ask("prioritize", nodes) or []}

    def _rejections(self, pod: Mapping[str, Any], nodes: list[str]) -> dict[str, str]:
        return (self._ask("filter", nodes, pod) or {}).get("FailedAndUnresolvableNodes") or {}

    def _ask(self, verb: str, nodes: list[str], pod: Mapping[str, Any] = PROBE) -> Any:
        """Return the verb's response, or None if the call failed; a new extender may not know any node yet."""
        request = {"Pod": pod, "Nodes": None, "NodeNames": nodes}
        answer = self._endpoint.post(verb, json.dumps(request).encode())
        return answer.json() if answer.status == 200 else None

    @staticmethod
    def _wait_for(wanted: dict[str, T], ask: Callable[[], dict[str, T]]) -> None:
        deadline = time.monotonic() + CACHE_SECONDS
        while (answer := ask()) != wanted:
            assert time.monotonic() < deadline, f"after {CACHE_SECONDS} s the extender returns {answer}"
            time.sleep(POLL_SECONDS)
