"""Authorization of callers if the stores of credentials are slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.authorizer import MAX_AGE_SECONDS, AnyAuthorizer, BasicAuthorizer, MutualTLSAuthorizer
from berth.authentication.basic import Passwords, credentials_digest
from berth.authentication.outcomes import AuthorizerOutcome, Decision
from berth.authentication.stores import AllowListStore, PasswordStore
from berth.extender.deadline import PASSED, Deadline
from berth.runtime.http.callers import NOT_READ_IN_TIME, CallerCheck
from berth.runtime.http.events import HTTPEvent
from berth.runtime.telemetry.metrics import measured_call, measures_of_call
from tests.builders.authorizer_events import basic, basic_event, certificate_event
from tests.fakes.credential_stores import InMemoryAllowList
from tests.fakes.log_lines import LogLines

SERIAL, SECRET = "1f00000000000001", '{"username": "berth", "password": "hunter2"}'


class LateStore(AllowListStore):
    def __init__(self) -> None:
        self.answer = threading.Event()

    def read(self) -> AllowList:
        self.answer.wait(10)
        return parse(SERIAL)


class LatePasswords(PasswordStore):
    def __init__(self) -> None:
        self.answer = threading.Event()

    def read(self) -> Passwords:
        self.answer.wait(10)
        return Passwords(credentials_digest(SECRET), None, 0.0)


def with_certificate() -> tuple[AnyAuthorizer, HTTPEvent, threading.Event]:
    store = LateStore()
    event = certificate_event(SERIAL, time.time() - 3600, time.time() + 3600)
    return MutualTLSAuthorizer(store, time.time), event, store.answer


def with_password() -> tuple[AnyAuthorizer, HTTPEvent, threading.Event]:
    store = LatePasswords()
    return BasicAuthorizer(store, time.time), basic_event(basic("berth", "hunter2")), store.answer


@pytest.mark.parametrize("caller", [with_certificate, with_password])
def test_denies_at_the_deadline_if_the_store_does_not_respond(
    caller: Callable[[], tuple[AnyAuthorizer, HTTPEvent, threading.Event]],
) -> None:
    authorizer, event, answer = caller()
    check = CallerCheck(authorizer)
    late = Decision(AuthorizerOutcome.UNAVAILABLE, NOT_READ_IN_TIME)
    assert check.decide(event, Deadline(0.05, time.monotonic)) == late
    assert check.decide(event, PASSED) == late
    answer.set()
    assert check.decide(event, Deadline(10, time.monotonic)).allowed
    assert check.decide(event, PASSED).allowed, "what was read is kept"


def test_slow_store_takes_at_most_half_of_the_time_if_an_earlier_read_succeeded(log_lines: LogLines) -> None:
    wall, store = [time.time()], LateStore()
    check = CallerCheck(MutualTLSAuthorizer(store, lambda: wall[0]))
    event = certificate_event(SERIAL, wall[0] - 3600, wall[0] + 3600)
    store.answer.set()
    assert check.decide(event, Deadline(10, time.monotonic)).allowed
    store.answer.clear()
    wall[0] += MAX_AGE_SECONDS
    deadline = Deadline(1.0, time.monotonic)
    with measured_call():
        decision = check.decide(event, deadline)
        assert measures_of_call().values == {"Failures": [1.0]}, "the alarm notices it"
    assert (decision.allowed, decision.is_fallback) == (True, True)
    assert NOT_READ_IN_TIME in decision.detail
    assert deadline.remaining() > 0.3
    assert check.decide(event, PASSED).is_fallback, "it does not wait again"
    store.answer.set()


def test_warm_up_reports_a_store_that_cannot_be_read(log_lines: LogLines) -> None:
    store = InMemoryAllowList(SERIAL)
    check = CallerCheck(MutualTLSAuthorizer(store, time.time))
    check.preload()
    assert log_lines.all() == []
    store.unavailable = True
    CallerCheck(MutualTLSAuthorizer(store, time.time)).preload()
    [line] = log_lines.all()
    assert (line["outcome"], line["detail"]) == ("failure-record-unavailable", "the store is unavailable")
    assert line["Failures"] == [1.0]
