"""Decisions that are asked for again and again: what was read is kept, as the process that decides keeps it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from berth_cli.console.decisions.document import DecisionDocument
from berth_cli.console.decisions.node_lists import StoredVerdicts
from berth_cli.console.decisions.numbers import Numbers
from berth_cli.console.decisions.source import MOST_AT_ONCE, DecisionSource, without_verdicts
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import Call

LOOK_SECONDS = 1.0
"""Pages that look more often get what was read last."""

MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class ReadDecision:
    """verdicts: of every node; None where they were not stored, or cannot be read."""

    record: DecisionDocument
    verdicts: StoredVerdicts | None = None


class PolledDecisions(DecisionSource):
    """The newest that were read. One look at a time."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._monotonic = monotonic
        self._lock = Lock()
        self._kept: dict[tuple[object, ...], ReadDecision] = {}  # the oldest first
        self._numbers: Numbers[ReadDecision] = Numbers(lambda decision: decision.record.key)
        self._looked_at: float | None = None
        self._problem: NotRead | None = None

    @abstractmethod
    def _read(self, now: float) -> Iterable[ReadDecision] | NotRead:
        """What is there now; some or all of it may have been read before. now: of the monotonic clock."""

    def _details_of(self, decision: ReadDecision) -> Mapping[str, object]:
        """See `details`."""
        return without_verdicts(decision.record.document())

    def after(self, number: int) -> Sequence[Mapping[str, object]] | NotRead:
        with self._lock:
            self._look_if_due()
            if self._problem is not None:
                return self._problem
            found = self._numbers.after(number, MOST_AT_ONCE)
        return [{"number": each, **decision.record.document()} for each, decision in found]

    def details(self, number: int) -> Mapping[str, object] | None:
        with self._lock:
            decision = self._numbers.get(number)
            return None if decision is None else {"number": number, **self._details_of(decision)}

    def calls(self) -> Sequence[Call] | NotRead:
        with self._lock:
            self._look_if_due()
            if self._problem is not None and not self._kept:
                return self._problem
            return [Call(each.record.time, each.record.verb, each.record.milliseconds) for each in self._kept.values()]

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, object]]:
        with self._lock:
            found = [each.record for each in self._kept.values()]
        return [each.document() for each in found if (each.namespace, each.name) == (namespace, name)]

    def _look_if_due(self) -> None:
        now = self._monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        found = self._read(now)
        self._problem = found if isinstance(found, NotRead) else None
        if not isinstance(found, NotRead):
            known = self._kept | {each.record.key: each for each in found}
            newest = sorted(known.values(), key=lambda decision: decision.record.time)[-MOST_KEPT:]
            self._kept = {each.record.key: each for each in newest}
            self._numbers.renew(newest)
