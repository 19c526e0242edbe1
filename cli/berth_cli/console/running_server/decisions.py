"""The decisions of a running `berth serve`, by its route /decisions.

The route answers the newest 50. A server that decides more often than 50 times between two looks has decisions that are
not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import BaseModel, ValidationError

from berth_cli.console.decisions.document import DecisionDocument
from berth_cli.console.decisions.polled import PolledDecisions, ReadDecision
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.running_server.server import RunningServer, Unanswered


class _Answer(BaseModel):
    decisions: list[DecisionDocument]


class ServerDecisions(PolledDecisions):
    """The server keeps as many."""

    def __init__(self, server: RunningServer, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        super().__init__(monotonic)
        self._server = server

    def _read(self, now: float) -> Iterable[ReadDecision] | NotRead:
        content = self._server.document("decisions", "decisions")
        if isinstance(content, Unanswered):
            return NotRead(content.reason)
        try:
            answer = _Answer.model_validate(content)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            return NotRead(f"{self._server.address}: /decisions cannot be read: {where}; is it of this release?")
        return map(ReadDecision, answer.decisions)
