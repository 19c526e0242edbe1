"""The running pods, observed by a watch of the API server; each pod is deleted some time after it was bound."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from heapq import heappop, heappush
from threading import Event, Thread
from typing import Self

from urllib3.exceptions import HTTPError

from .kubernetes_api import ApiError, Credentials, JsonObject, KubernetesApi

Groups = Callable[[JsonObject], Mapping[str, int]]
"""Returns the amounts that a pod holds, by group."""

WATCH_SECONDS = 600


class RunningPods:
    """Follows the pods of the namespaces from now on. `most`: the largest sum of amounts at one moment, by group."""

    def __init__(
        self, credentials: Credentials, groups: Groups, namespaces: tuple[str, ...], run_seconds: float
    ) -> None:
        self._api = KubernetesApi(credentials)
        self._credentials, self._groups, self._run_seconds = credentials, groups, run_seconds
        self._namespaces = namespaces
        self._running: dict[str, Mapping[str, int]] = {}
        self._due: list[tuple[float, str]] = []
        self._stopped = Event()
        self._threads = [Thread(target=self._follow, daemon=True), Thread(target=self._end, daemon=True)]
        self.most: Counter[str] = Counter()
        self.nodes: dict[str, str] = {}
        """The node of each pod that was bound, by its path."""
        self.bound_at: dict[str, float] = {}

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()

    def wait_until_ended(self, pods: int, seconds: float) -> None:
        """Wait until this many pods were bound and have ended."""
        until = time.monotonic() + seconds
        while len(self.nodes) < pods or self._running:
            assert time.monotonic() < until, f"not within {seconds} s: {len(self.nodes)} of {pods} pods were bound"
            time.sleep(0.1)

    def _follow(self) -> None:
        # The watch breaks when the API server ends.
        with suppress(HTTPError):
            self._watch()

    def _watch(self) -> None:
        for event in self._api.watch("/api/v1/pods", {}, seconds=WATCH_SECONDS):
            if self._stopped.is_set():
                return
            pod = event["object"]
            metadata = pod["metadata"]
            if metadata["namespace"] not in self._namespaces:
                continue
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            if event["type"] == "DELETED":
                self._running.pop(path, None)
            elif (node := pod["spec"].get("nodeName")) and path not in self._running:
                now = time.monotonic()
                self._running[path], self.nodes[path], self.bound_at[path] = self._groups(pod), node, now
                heappush(self._due, (now + self._run_seconds, path))
                total: Counter[str] = Counter()
                for amounts in self._running.values():
                    total.update(amounts)
                self.most |= total

    def _end(self) -> None:
        api = KubernetesApi(self._credentials)
        while not self._stopped.wait(0.02):
            while self._due and self._due[0][0] <= time.monotonic():
                try:
                    api.delete(heappop(self._due)[1], {"gracePeriodSeconds": "0"})
                except ApiError as error:
                    if error.status != 404:
                        raise
