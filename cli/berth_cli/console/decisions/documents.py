"""`/api/decisions`, the stream, `/api/decision`, one of them in detail, and `/api/decisions/of-node`, which of them
judged a node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import orjson

from berth.decisions.record import MOST_NAME_CHARACTERS
from berth_cli.console.decisions.source import MOST_AT_ONCE, DecisionSource
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Query

STREAM = "/api/decisions"
DETAILS = "/api/decision"
OF_NODE = "/api/decisions/of-node"
LOOK_SECONDS = 0.5
IDLE_SECONDS = 15.0
IDLE = b": idle\n\n"
"""A comment, which says only that the console is there."""


def decision_details(decisions: DecisionSource, query: Query) -> bytes | Refusal:
    """One decision with its nodes."""
    number = query.get("number", "")
    found = decisions.details(int(number)) if number.isdecimal() and len(number) <= 15 else None
    if found is None:
        return Refusal(404, Outcome.UNKNOWN_PATH, "this decision is not kept any more")
    return orjson.dumps(found)


def decisions_of_node(decisions: DecisionSource, query: Query) -> bytes | Refusal:
    """The numbers of the decisions that judged a node. A name of no node has none."""
    node = query.get("node", "")
    if not 0 < len(node) <= MOST_NAME_CHARACTERS:
        return Refusal(400, Outcome.BAD_QUERY, f"node is empty, or longer than {MOST_NAME_CHARACTERS} characters")
    found = decisions.of_node(node)
    if isinstance(found, NotRead):
        return Refusal(503, Outcome.NOT_READY, found.reason)
    return orjson.dumps({"node": node, "numbers": found})


async def decision_events(
    decisions: DecisionSource,
    since: int,
    is_stopping: Callable[[], bool],
    look_seconds: float = LOOK_SECONDS,
    idle_seconds: float = IDLE_SECONDS,
) -> AsyncIterator[bytes]:
    """Server-sent events: `decisions` with those that came since the last one, at first possibly with none, `problem`
    once when they cannot be read, and a comment while there is neither."""
    clock = asyncio.get_running_loop().time
    problem: str | None = None  # None: nothing was sent yet
    sent_at = clock()
    while not is_stopping():
        found = await asyncio.to_thread(decisions.after, since)
        if isinstance(found, NotRead):
            event = b"" if found.reason == problem else _event("problem", {"reason": found.reason})
            problem, may_be_more = found.reason, False
        else:
            event = b"" if not found and problem == "" else _event("decisions", found)
            problem, may_be_more = "", len(found) == MOST_AT_ONCE
            since = max((each["number"] for each in found if isinstance(each["number"], int)), default=since)
        if not event and clock() - sent_at >= idle_seconds:
            event = IDLE
        if event:
            sent_at = clock()
            yield event
        if not may_be_more:
            await asyncio.sleep(look_seconds)


def _event(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(data))
