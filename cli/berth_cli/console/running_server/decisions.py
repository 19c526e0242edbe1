"""The decisions of a running `berth serve`, by its route /decisions.

The route answers the newest 50. A server that decides more often than 50 times between two looks has decisions that are
not shown. It computes scores by plugin where it is asked about one pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel, ValidationError

from berth_cli.console.decisions.document import DecisionDocument
from berth_cli.console.decisions.polled import PolledDecisions, ReadDecision
from berth_cli.console.decisions.source import without_verdicts
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
        found = self._documents("decisions")
        return found if isinstance(found, NotRead) else map(ReadDecision, found)

    def _details_of(self, decision: ReadDecision) -> Mapping[str, object]:
        """With scores by plugin while the server has the decision."""
        record = decision.record
        found = self._documents(f"decisions?pod={record.namespace}/{record.name}")
        same = () if isinstance(found, NotRead) else [each for each in found if each.key == record.key]
        return without_verdicts((same[0] if same else record).document())

    def _documents(self, route: str) -> list[DecisionDocument] | NotRead:
        content = self._server.document(route, "decisions")
        if isinstance(content, Unanswered):
            return NotRead(content.reason)
        try:
            return _Answer.model_validate(content).decisions
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            return NotRead(f"{self._server.address}: /decisions cannot be read: {where}; is it of this release?")
