"""A proxy that keeps back bind for some members of a gang."""

from __future__ import annotations

import json
from threading import Condition

import urllib3

from tests.e2e.berth.endpoint import Endpoint
from tests.e2e.berth.extender import Extender
from tests.e2e.berth.recording_proxy import RecordingProxy
from tests.e2e.gangs.members import PLACED_SECONDS, wait_until
from tests.e2e.kubernetes.kubernetes_api import JsonObject
from tests.e2e.kubernetes.loopback import Request, Response


class HeldBinds(RecordingProxy):
    """Keeps back bind for some pods, so that the other members of their gang wait in Berth's barrier.

    Calls that Berth does not answer get the status 502.
    """

    HELD_SECONDS = 60

    def __init__(self, extender: Extender) -> None:
        super().__init__(extender.url_prefix)
        self._gangs = Endpoint(extender.url_prefix.removesuffix("/scheduler"))
        self._held: set[str] = set()
        self._nodes: dict[str, str] = {}
        self._let_go = Condition()

    def hold(self, *names: str) -> None:
        """From now on bind for the pods of these names gets no further than here."""
        with self._let_go:
            self._held.update(names)

    def let_go(self) -> None:
        """All calls go on, also those that were held."""
        with self._let_go:
            self._held.clear()
            self._let_go.notify_all()

    def wait_until_in_barrier(self, waiting: int) -> dict[str, str]:
        """Wait until so many members of one gang are in Berth's barrier, and another one is held here. Returns the
        nodes that the scheduler chose, by the pod's name."""
        wait_until("members are in the barrier", lambda: self._in_bind() == waiting and self._is_held(), PLACED_SECONDS)
        with self._let_go:
            return dict(self._nodes)

    def _is_held(self) -> bool:
        with self._let_go:
            return bool(self._held & self._nodes.keys())

    def _in_bind(self) -> int:
        answer = self._gangs.get("gangs")
        gangs: list[JsonObject] = answer.json()["gangs"] if answer.status == 200 else []
        return max((each["members"]["inBind"] for each in gangs), default=0)

    def _pass_on(self, request: Request) -> Response:
        if request.path.strip("/") == "bind":
            body = json.loads(request.body)
            with self._let_go:
                self._nodes[body["PodName"]] = body["Node"]
                self._let_go.wait_for(lambda: body["PodName"] not in self._held, self.HELD_SECONDS)
        try:
            return super()._pass_on(request)
        except urllib3.exceptions.HTTPError:
            return Response(502, b"")
