"""The decisions of the verbs, numbered, for pages that follow them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import islice
from threading import Lock

import orjson

from berth.decisions.document import document
from berth.decisions.recent import RecentDecisions
from berth.decisions.record import Record
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Query

STREAM = "/api/decisions"
DETAILS = "/api/decision"
LOOK_SECONDS = 0.5
MOST_AT_ONCE = 50
"""Scores by plugin are computed for each that is sent."""


class NumberedDecisions:
    """The records of `berth serve` in this process, each with a number that no other one has. Threads may share it."""

    def __init__(self, recent: RecentDecisions) -> None:
        self._recent = recent
        self._lock = Lock()
        self._records: list[Record] = []
        self._first = 1

    def after(self, number: int) -> list[tuple[int, Record]]:
        """The newest records with higher numbers, the oldest first. The first record has number 1."""
        with self._lock:
            self._renew()
            end = self._first + len(self._records)
            start = max(number + 1, end - MOST_AT_ONCE, self._first)
            return list(enumerate(islice(self._records, start - self._first, None), start))

    def get(self, number: int) -> Record | None:
        """None: there is none, or it is not kept any more."""
        with self._lock:
            at = number - self._first
            return self._records[at] if 0 <= at < len(self._records) else None

    def _renew(self) -> None:
        """Records are dropped at the head and added at the end."""
        kept = self._recent.all()
        dropped = 0
        if kept:
            known = {id(record): at for at, record in enumerate(self._records)}
            dropped = known.get(id(kept[0]), len(self._records))
        else:
            dropped = len(self._records)
        self._first += dropped
        self._records = kept

    def details(self, query: Query) -> bytes | Refusal:
        """One decision with every node: the nodes that each reason rejects, and the score of each node."""
        number = query.get("number", "")
        record = self.get(int(number)) if number.isdecimal() and len(number) <= 15 else None
        if record is None:
            return Refusal(404, Outcome.UNKNOWN_PATH, "this decision is not kept any more")
        return orjson.dumps(_details(record))


async def decision_events(
    decisions: NumberedDecisions, since: int, is_stopping: Callable[[], bool], look_seconds: float = LOOK_SECONDS
) -> AsyncIterator[bytes]:
    """Server-sent events `decisions`, each with those that came since the last one. The first event may be empty."""
    is_first = True
    while not is_stopping():
        found = decisions.after(since)
        if found or is_first:
            # Scores by plugin may take some milliseconds each.
            data = await asyncio.to_thread(event_data, found)
            yield b"event: decisions\ndata: %s\n\n" % data
            since = found[-1][0] if found else since
        is_first = False
        await asyncio.sleep(look_seconds)


def event_data(numbered: Sequence[tuple[int, Record]]) -> bytes:
    """The decisions as the page gets them."""
    return orjson.dumps([{"number": number, **document(record, record.names())} for number, record in numbered])


def _details(record: Record) -> dict[str, object]:
    names = record.names()
    return {
        **document(record, names),
        "rejected": [
            {
                "reason": each.reason,
                "plugin": each.plugin,
                "nodes": [name for at, name in enumerate(names) if each.bitmap >> at & 1],
            }
            for each in record.rejected()
        ],
        "scores": [{"node": name, "score": score} for name, score in zip(names, record.scores, strict=False)],
    }
