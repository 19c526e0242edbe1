"""A proxy between kube-scheduler and an extender that records requests and responses."""

from __future__ import annotations

import json
import ssl
import threading
from dataclasses import dataclass
from typing import Any

from tests.e2e.kubernetes.cluster import Pod
from tests.e2e.kubernetes.loopback import LoopbackService, Request, Response

from .endpoint import Endpoint

ANSWER_SECONDS = 10


@dataclass(frozen=True)
class Call:
    """A call of a verb with its response. arrived: its place in the order of the requests."""

    verb: str
    request: dict[str, Any]
    answer: Any
    arrived: int

    @property
    def pod_uid(self) -> str:
        """Return the UID of the call's pod. A bind request contains it directly, other requests in the Pod object."""
        uid: str = self.request["PodUID"] if self.verb == "bind" else self.request["Pod"]["metadata"]["uid"]
        return uid

    @property
    def offered(self) -> set[str]:
        if self.verb == "preempt":
            return set(self.request["NodeNameToVictims"] or self.request["NodeNameToMetaVictims"])
        return _node_names(self.request)

    @property
    def passed(self) -> set[str]:
        return _node_names(self.answer)

    @property
    def scores(self) -> dict[str, int]:
        return {entry["Host"]: entry["Score"] for entry in self.answer}

    @property
    def proposed(self) -> dict[str, list[str]]:
        """Return the UIDs of the victims that the scheduler proposed to preempt, by node."""
        full = self.request["NodeNameToVictims"]
        if full is not None:
            return {node: [pod["metadata"]["uid"] for pod in found["Pods"]] for node, found in full.items()}
        meta = self.request["NodeNameToMetaVictims"]
        return {node: [pod["UID"] for pod in found["Pods"]] for node, found in meta.items()}

    @property
    def victims(self) -> dict[str, list[str]]:
        """Return the UIDs of the victims in the response of preempt, by node."""
        return {
            node: [pod["UID"] for pod in victims["Pods"]]
            for node, victims in self.answer["NodeNameToMetaVictims"].items()
        }


class RecordingProxy(LoopbackService):
    """Forwards each call unchanged. The scheduler's configuration contains the proxy's `url_prefix`."""

    def __init__(self, url_prefix: str, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(self._pass_on, tls)
        self._endpoint = Endpoint(url_prefix)
        self._calls: list[Call] = []
        self._arrived = self._in_flight = 0
        self._changed = threading.Condition()

    def calls(self, pod: Pod | None = None) -> list[Call]:
        """Return all calls so far, or those of `pod`, in the order of their responses.

        Waits for calls in flight: the effect of a call may be visible before its response.
        """
        with self._changed:
            assert self._changed.wait_for(lambda: self._in_flight == 0, ANSWER_SECONDS), "a call has no answer"
            return [call for call in self._calls if pod is None or call.pod_uid == pod.uid]

    def verbs(self, pod: Pod) -> list[str]:
        return [call.verb for call in self.calls(pod)]

    def count(self, verb: str) -> int:
        """Count the calls of this verb so far."""
        return sum(call.verb == verb for call in self.calls())

    def _pass_on(self, request: Request) -> Response:
        verb = request.path.strip("/")
        with self._changed:
            self._arrived += 1
            self._in_flight += 1
            arrived = self._arrived
        try:
            answer = self._endpoint.post(verb, request.body)
            self._calls.append(Call(verb, json.loads(request.body), _json(answer.data), arrived))
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()
        return Response(answer.status, answer.data, {"Content-Type": answer.headers.get("Content-Type", "")})


def _node_names(message: dict[str, Any]) -> set[str]:
    """Return the node names in a request or response of either mode."""
    if message["NodeNames"] is not None:
        return set(message["NodeNames"])
    return {node["metadata"]["name"] for node in message["Nodes"]["items"]}


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None  # not a response of a verb, as its status shows
