"""`/api/decisions`, the stream, and `/api/decision`, one of them in detail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson

from berth_cli.console.decisions.source import DecisionSource
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Query

STREAM = "/api/decisions"
DETAILS = "/api/decision"
LOOK_SECONDS = 0.5


def decision_details(decisions: DecisionSource, query: Query) -> bytes | Refusal:
    """One decision with its nodes."""
    number = query.get("number", "")
    found = decisions.details(int(number)) if number.isdecimal() and len(number) <= 15 else None
    if found is None:
        return Refusal(404, Outcome.UNKNOWN_PATH, "this decision is not kept any more")
    return orjson.dumps(found)


async def decision_events(
    decisions: DecisionSource, since: int, is_stopping: Callable[[], bool], look_seconds: float = LOOK_SECONDS
) -> AsyncIterator[bytes]:
    """Server-sent events: `decisions` with those that came since the last one, at first possibly with none, and
    `problem` once when they cannot be read."""
    problem, is_first = "", True
    while not is_stopping():
        found = await asyncio.to_thread(decisions.after, since)
        if isinstance(found, NotRead):
            if found.reason != problem:
                problem = found.reason
                yield b"event: problem\ndata: %s\n\n" % orjson.dumps({"reason": problem})
        elif found or is_first or problem:
            problem, is_first = "", False
            yield b"event: decisions\ndata: %s\n\n" % orjson.dumps(found)
            since = max((each["number"] for each in found if isinstance(each["number"], int)), default=since)
        await asyncio.sleep(look_seconds)
