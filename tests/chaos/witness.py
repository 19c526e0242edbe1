"""Watches the API server beside Berth, and records every violation, however short."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import Self

import urllib3

from tests.chaos.cluster_model import PodOnAccount, overcommitted, pod_on_account, teams_on
from tests.e2e.kubernetes.kubernetes_api import ApiError, Credentials, JsonObject, KubernetesApi

WATCH_SECONDS = 5
PATH = "/api/v1/pods"


class Witness:
    """Follows all pods, in the order in which the API server committed their changes."""

    def __init__(self, credentials: Credentials) -> None:
        self._api = KubernetesApi(credentials)
        self._pods: dict[str, PodOnAccount] = {}
        self._lock = Lock()
        self._stop = Event()
        self._thread = Thread(target=self._follow, name="witness", daemon=True)
        self._seen: list[str] = []
        self._known: set[str] = set()
        self._devices: dict[str, str] = {}
        self.bindings = 0
        self.judges_teams = True
        """Whether the rule of teams is checked: a node must not have two pods of a team."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2 * WATCH_SECONDS)

    def violations(self) -> list[str]:
        with self._lock:
            found, self._seen = self._seen, []
            return found

    def as_bound(self, pod: PodOnAccount) -> PodOnAccount:
        """Return the pod with the device of its Binding, regardless of later edits by its owner."""
        return replace(pod, device=self._devices.get(pod.uid, pod.device))

    def _follow(self) -> None:
        version = ""
        while not self._stop.is_set():
            try:
                version = version or self._listed()
                for event in self._api.watch(
                    PATH, {"resourceVersion": version, "allowWatchBookmarks": "true"}, seconds=WATCH_SECONDS
                ):
                    if event["type"] == "ERROR":
                        version = ""
                        break
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self.learn(event["type"], event["object"])
                    if self._stop.is_set():
                        return
            except (ApiError, urllib3.exceptions.HTTPError, OSError, ValueError):
                version = ""
                with suppress(RuntimeError):
                    time.sleep(0.2)

    def _listed(self) -> str:
        found = self._api.get(PATH)
        with self._lock:
            self._pods = {each.uid: self.as_bound(each) for each in map(pod_on_account, found["items"])}
        version: str = found["metadata"]["resourceVersion"]
        return version

    def learn(self, kind: str, found: JsonObject) -> None:
        """Learn an event of the watch: the type of change and the object."""
        pod = pod_on_account(found)
        with self._lock:
            before = self._pods.pop(pod.uid, None)
            if kind == "DELETED":
                self._devices.pop(pod.uid, None)
                return
            if pod.node:
                self._devices.setdefault(pod.uid, pod.device)
                pod = self.as_bound(pod)
            self._pods[pod.uid] = pod
            if before is not None and before.node and pod.node != before.node:
                self._note(f"{pod.key} was bound to {before.node} and then to {pod.node or 'none'}")
            if pod.node and (before is None or not before.node):
                self.bindings += 1
                too_much = overcommitted(self._pods.values())
                for owner in pod.shares(pod.node).keys() & too_much.keys():
                    self._note(f"{owner} is overcommitted by {pod.key}: {too_much[owner]}")
                if self.judges_teams and teams_on(self._pods.values(), pod.node)[pod.team] > 1:
                    self._note(f"{pod.key} is a second pod of {pod.team} on {pod.node}")

    def _note(self, text: str) -> None:
        if text not in self._known:
            self._known.add(text)
            self._seen.append(text)
