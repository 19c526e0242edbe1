"""The decisions of a running `berth serve`, by its route /decisions.

The route answers the newest 50. A server that decides more often than 50 times between two looks has decisions that are
not shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from berth.decisions.document import VERSION
from berth_cli.console.decisions.numbers import Numbers
from berth_cli.console.decisions.source import MOST_AT_ONCE, DecisionSource, without_verdicts
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import Call
from berth_cli.console.running_server.server import RunningServer, Unanswered

LOOK_SECONDS = 1.0
"""Pages that look more often get what was read last."""

MOST_KEPT = 1000


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Reason(_Part):
    code: str
    reason: str
    plugin: str
    count: int
    nodes: tuple[str, ...]


class _Best(_Part):
    node: str
    score: float
    by_plugin: dict[str, float] | None = Field(alias="byPlugin")


class _Decision(_Part):
    """A record of version 1, with the keys that the page reads."""

    version: int = Field(le=VERSION)
    time: float
    verb: str
    namespace: str
    name: str
    uid: str
    outcome: str
    milliseconds: float
    profile: str
    cache_age: float | None = Field(alias="cacheAgeSeconds")
    nodes: int
    feasible: int | None
    chosen: str | None
    reasons: tuple[_Reason, ...]
    best: tuple[_Best, ...]
    victims: dict[str, int] = {}
    error: str = ""

    def document(self) -> dict[str, object]:
        return self.model_dump(mode="json", by_alias=True)


class _Answer(BaseModel):
    decisions: list[_Decision]


class ServerDecisions(DecisionSource):
    """What it has read, it keeps, as the server does."""

    def __init__(self, server: RunningServer, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._server, self._monotonic = server, monotonic
        self._lock = Lock()
        self._kept: deque[_Decision] = deque(maxlen=MOST_KEPT)
        self._numbers: Numbers[_Decision] = Numbers(_key)
        self._looked_at: float | None = None
        self._problem: NotRead | None = None

    def after(self, number: int) -> Sequence[Mapping[str, object]] | NotRead:
        with self._lock:
            self._look_if_due()
            if self._problem is not None:
                return self._problem
            found = self._numbers.after(number, MOST_AT_ONCE)
        return [{"number": each, **decision.document()} for each, decision in found]

    def details(self, number: int) -> Mapping[str, object] | None:
        with self._lock:
            decision = self._numbers.get(number)
        if decision is None:
            return None
        return {"number": number, **without_verdicts(decision.document())}

    def calls(self) -> Sequence[Call]:
        with self._lock:
            self._look_if_due()
            return [Call(each.time, each.verb, each.milliseconds) for each in self._kept]

    def _look_if_due(self) -> None:
        now = self._monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._problem = self._look()

    def _look(self) -> NotRead | None:
        content = self._server.document("decisions", "decisions")
        if isinstance(content, Unanswered):
            return NotRead(content.reason)
        try:
            answer = _Answer.model_validate(content)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            return NotRead(f"{self._server.address}: /decisions cannot be read: {where}; is it of this release?")
        known = {_key(each) for each in self._kept}
        self._kept.extend(each for each in answer.decisions if _key(each) not in known)
        self._numbers.renew(self._kept)
        return None


def _key(decision: _Decision) -> tuple[object, ...]:
    return decision.time, decision.verb, decision.namespace, decision.name, decision.uid, decision.milliseconds
