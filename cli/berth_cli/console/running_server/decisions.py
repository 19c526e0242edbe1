"""The decisions of a running `berth serve`, by its route /decisions.

The route answers the newest 50. A server that decides more often than 50 times between two looks has decisions that are
not shown. It computes scores by plugin where it is asked about one pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from berth_cli.console.decisions.document import DecisionDocument, DecisionHeader
from berth_cli.console.decisions.polled import PolledDecisions, ReadDecision
from berth_cli.console.decisions.source import without_verdicts
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.running_server.server import NoAnswer, RunningServer


class _Decisions(BaseModel):
    decisions: list[DecisionDocument]


class _Headers(BaseModel):
    decisions: list[DecisionHeader]


Answer = TypeVar("Answer", _Decisions, _Headers)


class ServerDecisions(PolledDecisions):
    """The server keeps as many."""

    def __init__(self, server: RunningServer, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        super().__init__(monotonic)
        self._server = server

    def of_node(self, node: str) -> Sequence[int] | NotRead:
        """The server has the verdicts, and is asked."""
        # A server of an earlier release answers all decisions, and no `node`.
        found = self._answer(_Headers, f"decisions?node={quote(node, safe='')}", "node")
        if isinstance(found, NotRead):
            return found
        judged = {each.key for each in found.decisions}
        with self._lock:
            return [number for number, each in self._numbers.after(0) if each.record.key in judged]

    def _read(self, now: float) -> Iterable[ReadDecision] | NotRead:
        found = self._answer(_Decisions, "decisions")
        return found if isinstance(found, NotRead) else map(ReadDecision, found.decisions)

    def _details_of(self, decision: ReadDecision) -> Mapping[str, object]:
        """With scores by plugin while the server has the decision."""
        record = decision.record
        found = self._answer(_Decisions, f"decisions?pod={record.namespace}/{record.name}")
        same = () if isinstance(found, NotRead) else [each for each in found.decisions if each.key == record.key]
        return without_verdicts((same[0] if same else record).document())

    def _answer(self, kind: type[Answer], route: str, member: str = "decisions") -> Answer | NotRead:
        content = self._server.document(route, member)
        if isinstance(content, NoAnswer):
            return NotRead(content.reason)
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            return NotRead(f"{self._server.address}: /decisions cannot be read: {where}; is it of this release?")
