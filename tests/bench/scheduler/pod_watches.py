"""When pods are bound, and which pods the scheduler finds no node for, as the API server tells it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from threading import Condition, Event, Thread
from typing import Self

import urllib3

from tests.bench.scheduler.workload import PODS_PATH
from tests.e2e.kubernetes.kubernetes_api import ApiError, Credentials, JsonObject, KubernetesApi

WATCH_SECONDS = 3600
# From what the API server has at hand: one that is busy refuses to begin at the newest state.
MEASURED = {"labelSelector": "bench=measured", "resourceVersion": "0"}
ON_A_NODE = {"fieldSelector": "spec.nodeName!="}


def pod_events(credentials: Credentials, selectors: dict[str, str]) -> Iterator[JsonObject]:
    """The watch events of the measured pods, from those that there are."""
    return KubernetesApi(credentials).watch(PODS_PATH, MEASURED | selectors, seconds=WATCH_SECONDS)


class PodWatch(ABC):
    """Follows events in a thread of its own until the block ends: with the next event, such as that of a deletion."""

    def __init__(self, events: Iterable[JsonObject]) -> None:
        self._events = events
        self._changed = Condition()
        self._ended = Event()
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        Thread(target=self._follow, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    @abstractmethod
    def _take(self, event: JsonObject) -> bool:
        """Whether it changes what is waited for."""

    def _wait(self, seconds: float) -> bool:
        """Until a change, or so long; False where there was none. Under the condition. Raises what ended the watch."""
        if self._error is not None:
            raise self._error
        return self._changed.wait(seconds)

    def _follow(self) -> None:
        try:
            for event in self._events:
                if self._ended.is_set():
                    return
                if event["type"] == "ERROR":
                    raise ApiError(event["object"]["code"], event["object"]["message"])
                with self._changed:
                    if self._take(event):
                        self._changed.notify_all()
        except (ApiError, urllib3.exceptions.HTTPError) as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()


class BoundPods(PodWatch):
    """Of events of pods that are on a node: when each came there, by this process's clock."""

    def __init__(self, events: Iterable[JsonObject]) -> None:
        super().__init__(events)
        self.times: list[float] = []

    def wait_for(self, count: int, first: float, all_of_them: float) -> float | None:
        """Until so many are bound, or `all_of_them` seconds after the first one. Returns that end, None if all are
        bound. Raises TimeoutError where none is bound within `first` seconds."""
        until = time.perf_counter() + first
        with self._changed:
            while len(self.times) < count and (left := until - time.perf_counter()) > 0:
                self._wait(left)
                if self.times:
                    until = self.times[0] + all_of_them
        if not self.times:
            raise TimeoutError(f"no pod was bound within {first:g} s")
        return None if len(self.times) >= count else until

    def _take(self, event: JsonObject) -> bool:
        is_bound: bool = event["type"] == "ADDED"
        if is_bound:
            self.times.append(time.perf_counter())
        return is_bound


class Verdict(StrEnum):
    """What the scheduler says of a pod. WAITING: nothing yet, or it tries again, as after a bind that failed."""

    PLACED = "placed"
    REJECTED = "rejected"
    WAITING = "waiting"


def verdict_of(pod: JsonObject) -> Verdict:
    """By its node and its conditions."""
    if pod["spec"].get("nodeName"):
        return Verdict.PLACED
    conditions = pod.get("status", {}).get("conditions", ())
    reasons = [each.get("reason") for each in conditions if each["type"] == "PodScheduled"]
    return Verdict.REJECTED if reasons == ["Unschedulable"] else Verdict.WAITING


class PodVerdicts(PodWatch):
    """Of events of all measured pods: the latest verdict of each."""

    def __init__(self, events: Iterable[JsonObject]) -> None:
        super().__init__(events)
        self._verdicts: dict[str, Verdict] = {}

    def wait_for(self, placed: int, pods: int, patience: float) -> Counter[Verdict]:
        """Until so many pods are placed, or more, and the others of so many are rejected. Or until no verdict has
        changed for `patience` seconds. Returns how many pods have each verdict."""
        with self._changed:
            while not self._are_judged(placed, pods) and self._wait(patience):
                pass
            return Counter(self._verdicts.values())

    def _are_judged(self, placed: int, pods: int) -> bool:
        found = Counter(self._verdicts.values())
        return found[Verdict.PLACED] >= placed and found[Verdict.PLACED] + found[Verdict.REJECTED] >= pods

    def _take(self, event: JsonObject) -> bool:
        name, verdict = event["object"]["metadata"]["name"], verdict_of(event["object"])
        has_changed = self._verdicts.get(name) is not verdict
        self._verdicts[name] = verdict
        return has_changed
