"""Calls to the API server and to the tables that fail, or whose answers are lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from tests.chaos.faults.processes import killed
from tests.chaos.faulty_proxy import Answer, Cut
from tests.chaos.set_up import SetUp

RATE = 0.3
THROTTLED_RATE = 0.9


def _status(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return json.dumps({**status, "message": "by order of the test"}).encode()


def thrown(status: int, name: str) -> Answer:
    kind = f"com.amazonaws.dynamodb.v20120810#{name}"
    return Answer(status, json.dumps({"__type": kind, "message": "by order of the test"}).encode())


API_FAULTS = (
    Answer(500, _status(500, "InternalError")),
    Answer(429, _status(429, "TooManyRequests"), headers=(("Retry-After", "1"),)),
    Cut.BEFORE,
    Cut.AFTER,
)
TABLE_FAULTS = (
    thrown(500, "InternalServerError"),
    thrown(400, "ProvisionedThroughputExceededException"),
    Cut.BEFORE,
    Cut.AFTER,
)
THROTTLED = (
    thrown(400, "ProvisionedThroughputExceededException"),
    thrown(400, "ThrottlingException"),
    thrown(400, "RequestLimitExceeded"),
)
EXPIRED = Answer(200, json.dumps({"type": "ERROR", "object": json.loads(_status(410, "Expired"))}).encode() + b"\n")


def api_fails(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.api_proxy.failing(RATE, API_FAULTS, set_up.random)


def api_is_away(set_up: SetUp) -> AbstractContextManager[None]:
    set_up.api_proxy.cut_streams()
    return set_up.api_proxy.failing(1.0, (Cut.BEFORE,), set_up.random)


def tables_fail(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.tables_proxy.failing(RATE, TABLE_FAULTS, set_up.random)


def tables_throttled(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.tables_proxy.failing(THROTTLED_RATE, THROTTLED, set_up.random)


def watches_expire(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.api_proxy.expiring_watches(EXPIRED)


@contextmanager
def answers_are_lost(set_up: SetUp) -> Iterator[None]:
    """Carry out every request, but lose many responses."""
    with (
        set_up.api_proxy.failing(RATE, (Cut.AFTER,), set_up.random),
        set_up.tables_proxy.failing(RATE, (Cut.AFTER,), set_up.random),
    ):
        yield


@contextmanager
def everything_fails(set_up: SetUp) -> Iterator[None]:
    """Let calls of API server and tables fail at the same time, and kill one Berth meanwhile."""
    with ExitStack() as failing:
        failing.enter_context(api_fails(set_up))
        failing.enter_context(tables_fail(set_up))
        with killed(0)(set_up):
            yield
