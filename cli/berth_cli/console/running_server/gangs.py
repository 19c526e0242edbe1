"""The gangs of a running `berth serve`, by its route /gangs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.pending.gangs import GangSource
from berth_cli.console.running_server.server import NoAnswer, RunningServer

LOOK_SECONDS = 5.0
"""The server reads its whole node cache for an answer, and plans all gangs."""


class _Members(BaseModel):
    exist: int | None
    in_bind: int = Field(alias="inBind")
    on_nodes: int | None = Field(alias="onNodes")


class _Gang(BaseModel):
    """With the keys that the page reads."""

    gang: str
    state: str
    waits_for: str = Field(alias="waitsFor")
    minimum: int
    members: _Members
    priority: int
    since: str | None


class _Answer(BaseModel):
    gangs: list[_Gang]
    open: str | None
    compared: bool


class ServerGangs(GangSource):
    """Those that are being bound included."""

    def __init__(self, server: RunningServer, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._server, self._monotonic = server, monotonic
        self._lock = Lock()
        self._last: tuple[float, Mapping[str, Any] | NotRead] | None = None

    def gangs(self, now: float) -> Mapping[str, Any] | NotRead:
        with self._lock:
            at = self._monotonic()
            if self._last is None or at - self._last[0] >= LOOK_SECONDS:
                self._last = at, self._summaries()
            return self._last[1]

    def _summaries(self) -> Mapping[str, Any] | NotRead:
        content = self._server.document("gangs", "gangs")
        if isinstance(content, NoAnswer):
            return NotRead(content.reason)
        try:
            return _Answer.model_validate(content).model_dump(mode="json", by_alias=True)
        except ValidationError:
            return NotRead(f"{self._server.address}: /gangs cannot be read; is it of this release?")
