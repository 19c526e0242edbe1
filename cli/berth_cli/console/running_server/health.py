"""What a running `berth serve` says of its health: /healthz and /reservations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

from pydantic import BaseModel, ValidationError

from berth.reservations.ledger.entry import EntryState
from berth_cli.console.health.source import MOST_RESERVATIONS, HealthSource
from berth_cli.console.running_server.server import NoAnswer, RunningServer

RESERVATIONS_SECONDS = 10.0
"""The server reads its whole ledger and its whole node cache for an answer."""


class _Reservation(BaseModel):
    """With the keys that the page reads."""

    pod: str
    node: str
    state: str
    holds: dict[str, int]
    why: str


class _Node(BaseModel):
    owed: dict[str, int]
    available: dict[str, int] | None


class _Answer(BaseModel):
    reservations: list[_Reservation]
    nodes: list[_Node]


class ServerHealth(HealthSource):
    """Its leader and the ages of single resources are in its tables, which it gives out to nobody."""

    def __init__(self, server: RunningServer, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._server, self._monotonic = server, monotonic
        self._lock = Lock()
        self._reservations: tuple[float, Mapping[str, object]] | None = None

    def facts(self, wall: float) -> Mapping[str, object]:
        cache = self._server.health()
        if isinstance(cache, NoAnswer):
            return {"cache": {"status": "unknown", "reason": cache.reason}}
        shown = {name: value for name, value in cache.items() if name not in ("configuration", "cluster")}
        return {"cache": shown, "reservations": self._kept_reservations()}

    def _kept_reservations(self) -> Mapping[str, object]:
        with self._lock:
            now = self._monotonic()
            if self._reservations is None or now - self._reservations[0] >= RESERVATIONS_SECONDS:
                self._reservations = now, self._ask_reservations()
            return self._reservations[1]

    def _ask_reservations(self) -> Mapping[str, object]:
        content = self._server.document("reservations", "reservations")
        if isinstance(content, NoAnswer):
            return {"problem": content.reason}
        try:
            found = _Answer.model_validate(content)
        except ValidationError:
            return {"problem": f"{self._server.address}: /reservations cannot be read; is it of this release?"}
        return {
            "count": len(found.reservations),
            "open": sum(each.state != EntryState.BOUND for each in found.reservations),
            "owed": sum(any(node.owed.values()) for node in found.nodes),
            "rebuilding": sum(node.available is None for node in found.nodes),
            "reservations": [each.model_dump() for each in found.reservations[:MOST_RESERVATIONS]],
        }
