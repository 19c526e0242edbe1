"""A steady stream of pods and gangs through `berth serve`; the tests act as kube-scheduler."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from berth.pods import BERTH_SCHEDULERS
from tests.builders.http_calls import Caller
from tests.builders.requests import body_of
from tests.chaos.cluster_model import GANG_SIZE, LINK, NAMESPACES, SEAT, SLOT, overcommitted, pod, pod_on_account
from tests.e2e.kubernetes.kubernetes_api import JsonObject
from tests.fakes.api_server import KubernetesOnLoopback

POD_SECONDS = 10.0
GANG_EVERY = 25
BIND_ATTEMPTS = 10
PLANNED_SECONDS = 2.0
"""The longest time in seconds until filter must know all members of a gang."""


class Pods:
    """A stream of pods: each is created, bound to a node that filter returns, and deleted. Pods that filter rejects
    wait until they are deleted: there are fewer seats and links than the pods request together."""

    def __init__(self, kubernetes: KubernetesOnLoopback, port: int, nodes: Sequence[str]) -> None:
        self._kubernetes, self._nodes = kubernetes, nodes
        self._callers = [Caller(port) for _ in range(GANG_SIZE)]
        self._threads = ThreadPoolExecutor(GANG_SIZE)
        self._running: deque[tuple[float, tuple[str, str]]] = deque()
        self.created = self.bound = self.rejected = self.gangs = 0

    def step(self) -> None:
        """Create another pod or a gang, and delete pods whose time is over."""
        number, now = self.created, time.monotonic()
        while self._running and self._running[0][0] < now - POD_SECONDS:
            del self._kubernetes.pods[self._running.popleft()[1]]
        is_gang = number % GANG_EVERY < GANG_SIZE
        request = {SLOT: 1} | ({SEAT: 1} if is_gang or number % 6 == 0 else {LINK: 1} if number % 6 == 1 else {})
        gang = f"gang-{number}" if is_gang else ""
        made = [self._made(f"pod-{number + each}", number, request, gang) for each in range(GANG_SIZE if gang else 1)]
        for each in made:
            key = each["metadata"]["namespace"], each["metadata"]["name"]
            self._kubernetes.pods[key] = each
            self._running.append((now, key))
        self.created += len(made)
        places = [self._feasible(each) for each in made]
        if not all(places):
            self.rejected += len(made)
            return
        bound = [*self._threads.map(self._bind, self._callers, made, (each[number % len(each)] for each in places))]
        self.bound += sum(bound)
        self.gangs += is_gang

    def overcommitted(self) -> list[str]:
        """Describe the pools that hold more than their capacity, according to the API server's pods."""
        found = overcommitted(map(pod_on_account, [*self._kubernetes.pods.values()]))
        return [f"{owner}: {text}" for owner, text in found.items()]

    def _made(self, name: str, number: int, request: dict[str, int], gang: str) -> JsonObject:
        made = pod(name, request, min(BERTH_SCHEDULERS), gang=gang)
        made["metadata"] |= {"namespace": NAMESPACES[number // 6 % len(NAMESPACES)], "uid": f"uid-{name}"}
        return made | {"status": {"phase": "Pending"}}

    def _feasible(self, one: JsonObject) -> Sequence[str]:
        until = time.monotonic() + PLANNED_SECONDS
        while True:
            answer = self._callers[0].post("/scheduler/filter", body_of({"Pod": one, "NodeNames": self._nodes})).json
            waits = any("gang waits for members" in reason for reason in answer["FailedAndUnresolvableNodes"].values())
            if not waits or time.monotonic() > until:
                return answer["NodeNames"] or ()
            time.sleep(0.05)

    def _bind(self, caller: Caller, one: JsonObject, node: str) -> bool:
        metadata, error = one["metadata"], ""
        binding = {"PodName": metadata["name"], "PodNamespace": metadata["namespace"], "PodUID": metadata["uid"]}
        for _ in range(BIND_ATTEMPTS):
            error = caller.post("/scheduler/bind", body_of(binding | {"Node": node})).json["Error"]
            if not error:
                return True
            time.sleep(1)
        print(f"{binding}: {error}", file=sys.stderr)
        return False
