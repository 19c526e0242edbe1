"""Pods that come and go at random, and constant changes at the API server."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from random import Random
from threading import Event, Lock, Thread
from typing import Self

import urllib3

from tests.chaos.cluster_model import (
    GANG_SIZE,
    NAMESPACES,
    NODES,
    SCHEDULERS,
    SEAT,
    drawn_request,
    drawn_team,
    node,
    pod,
)
from tests.e2e.kubernetes.kubernetes_api import ApiError, Credentials, JsonObject, KubernetesApi

NAMESPACE = NAMESPACES[0]
MOST_PODS = 60
"""The most pods: more than the nodes have room for, so that some always wait."""
PODS_PER_SECOND = 8.0
PULSE_SECONDS = 1.0
PULSE = "chaos.example.com/pulse"

NOW = {"gracePeriodSeconds": "0"}


def path_of(found: JsonObject) -> str:
    """Return the path of a pod."""
    return f"/api/v1/namespaces/{found['metadata']['namespace']}/pods/{found['metadata']['name']}"


class Workload:
    """Creates and deletes pods, a few a second, in a block of `running`. One thread, one seed.

    The pulse never pauses: it changes an annotation of an object of each resource that Berth watches, so that the API
    server sends events, as in any cluster in use.
    """

    def __init__(self, credentials: Credentials, random: Random) -> None:
        self._api = KubernetesApi(credentials)
        self._pulse_api = KubernetesApi(credentials)
        self._random = random
        self._numbers = count(1)
        self._pods: deque[str] = deque()
        self._stop = Event()
        self._running = Event()
        self._busy = Lock()
        self._threads = [
            Thread(target=self._work, name="workload", daemon=True),
            Thread(target=self._pulse, name="pulse", daemon=True),
        ]
        self.created = 0
        self.deleted = 0

    def __enter__(self) -> Self:
        for each in NODES:
            self._api.create("/api/v1/nodes", node(each))
        for each in NAMESPACES[1:]:
            self._api.create("/api/v1/namespaces", {"metadata": {"name": each}})
        policy, priority = "/apis/policy/v1/namespaces/default", "/apis/scheduling.k8s.io/v1"
        budget = {
            "metadata": {"name": "pulse"},
            "spec": {"minAvailable": 0, "selector": {"matchLabels": {"no": "one"}}},
        }
        self._api.create(f"{policy}/poddisruptionbudgets", budget)
        self._api.create(f"{priority}/priorityclasses", {"metadata": {"name": "pulse"}, "value": 0})
        # The gate keeps schedulers from trying the pod.
        gated = pod("pulse", {}, SCHEDULERS[0])
        gated["spec"]["schedulingGates"] = [{"name": PULSE}]
        self._api.create(f"/api/v1/namespaces/{NAMESPACE}/pods", gated)
        self._pulsing = (
            f"/api/v1/nodes/{NODES[0]}",
            f"/api/v1/namespaces/{NAMESPACE}",
            f"/api/v1/namespaces/{NAMESPACE}/pods/pulse",
            f"{policy}/poddisruptionbudgets/pulse",
            f"{priority}/priorityclasses/pulse",
        )
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(10)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Create and delete pods until the block ends; afterwards no call is under way."""
        self._running.set()
        try:
            yield
        finally:
            self._running.clear()
            with self._busy:
                pass

    def burst(self, pods: int) -> None:
        """Create this number of pods at once, alternating between both schedulers."""
        for number in range(pods):
            self._create(SCHEDULERS[number % 2])

    def forget(self, path: str) -> bool:
        """Leave a pod's deletion to another component. Return False if the workload does not have the pod any more."""
        # The workload's thread must not choose a pod at the same time.
        with self._busy:
            if path not in self._pods:
                return False
            self._pods.remove(path)
            return True

    def _work(self) -> None:
        while not self._stop.is_set():
            if not self._running.wait(0.1):
                continue
            with self._busy, suppress(ApiError, urllib3.exceptions.HTTPError):
                self._step()
            self._stop.wait(self._random.uniform(0.2, 1.8) / PODS_PER_SECOND)

    def _step(self) -> None:
        if len(self._pods) < MOST_PODS and self._random.random() < 0.6:
            self._create(self._random.choice(SCHEDULERS))
        elif self._pods:
            path = self._pods[self._random.randrange(len(self._pods))]
            self._pods.remove(path)
            self.delete(path)

    def _create(self, scheduler: str) -> None:
        """Create a pod, or one time in twenty the members of a gang, which later end like other pods."""
        number = next(self._numbers)
        path = f"/api/v1/namespaces/{self._random.choice(NAMESPACES)}/pods"
        if self._random.random() < 0.05:
            gang = f"gang-{number}"
            made = [pod(f"{gang}-{member}", {SEAT: 1}, scheduler, gang=gang) for member in range(GANG_SIZE)]
        else:
            made = [pod(f"pod-{number}", drawn_request(self._random), scheduler, drawn_team(self._random))]
        for one in made:
            self._api.create(path, one)
            self._pods.append(f"{path}/{one['metadata']['name']}")
            self.created += 1

    def delete(self, path: str) -> None:
        """Delete a pod at once: there is no kubelet."""
        with suppress(ApiError):
            self._api.delete(path, NOW)
            self.deleted += 1

    def _pulse(self) -> None:
        while not self._stop.wait(PULSE_SECONDS):
            for path in self._pulsing:
                with suppress(ApiError, urllib3.exceptions.HTTPError):
                    self._pulse_api.patch(path, {"metadata": {"annotations": {PULSE: str(time.monotonic())}}})
