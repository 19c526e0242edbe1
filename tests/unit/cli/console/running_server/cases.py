"""A `berth serve` that answers what a test says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from berth_cli.console.running_server.server import RunningServer
from berth_cli.sources.server import HttpResponse, NoResponse
from tests.fakes.doctor import FakeEndpoint, answered

REFUSED = NoResponse("connection refused or blocked")


@dataclass
class Routes(FakeEndpoint):
    """routes: its answers by route. asked: the routes that were asked for."""

    routes: dict[str, HttpResponse | NoResponse] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def get(self, name: str) -> HttpResponse | NoResponse:
        self.asked.append(name)
        return self.routes.get(name) or answered({"message": "Not Found", "Error": "Berth has no route"}, 404)

    @property
    def server(self) -> RunningServer:
        return RunningServer(self)


def healthy(**more: object) -> Mapping[str, object]:
    """What /healthz?verbose answers."""
    return {"status": "ok", "observedAgeSeconds": 4.0, "configuration": {"profile": "label-priority"}, **more}
