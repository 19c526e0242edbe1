"""Steps in a background thread, and the warm-up of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Event
from typing import Any

import pytest
from botocore.exceptions import ClientError

from berth.runtime.watcher import background
from berth.runtime.watcher.background import BackgroundSteps, WarmUp

SECONDS = 10.0
"""Maximum seconds that a test waits for an event. Only a failing test waits this long."""


class Work:
    """A step that sets `runs` when it begins, and ends once `let` is set."""

    def __init__(self) -> None:
        self.runs = Event()
        self.let = Event()
        self.count = 0

    def step(self) -> float:
        self.count += 1
        self.runs.set()
        assert self.let.wait(SECONDS)
        return 3600.0


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def steps(work: Work) -> Iterator[BackgroundSteps]:
    found = BackgroundSteps(work.step, "test", "nothing was done")
    yield found
    work.let.set()
    found.close()


def test_next_step_runs_soon_after_it_is_requested(work: Work, steps: BackgroundSteps) -> None:
    work.let.set()
    steps.published()
    assert work.runs.wait(SECONDS)
    work.runs.clear()
    steps.run_soon()
    assert work.runs.wait(SECONDS)


def test_step_requested_during_another_step_runs_afterwards(work: Work, steps: BackgroundSteps) -> None:
    steps.published()
    assert work.runs.wait(SECONDS)
    work.runs.clear()
    for _ in range(3):
        steps.run_soon()
    work.let.set()
    assert work.runs.wait(SECONDS)
    steps.close()
    assert work.count == 2


def test_close_ends_a_long_wait(work: Work, steps: BackgroundSteps) -> None:
    work.let.set()
    steps.published()
    assert work.runs.wait(SECONDS)
    steps.close()
    steps.run_soon()
    assert work.count == 1


def test_step_that_fails_is_logged_and_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 0.0)
    work = Work()
    work.let.set()
    failures = iter([ValueError("no luck")])

    def step() -> float:
        for error in failures:
            raise error
        return work.step()

    steps = BackgroundSteps(step, "test", "nothing was done")
    steps.published()
    assert work.runs.wait(SECONDS)
    steps.close()
    [line] = caplog.records
    assert (line.message, line.exc_info and str(line.exc_info[1])) == (
        "nothing was done; the next attempt is in 0 s",
        "no luck",
    )


def test_run_that_publishes_only_once_performs_the_step_immediately(work: Work) -> None:
    work.let.set()
    steps = BackgroundSteps(work.step, "test", "nothing was done", once=True)
    steps.published()
    assert work.count == 1
    steps.close()


class Functions:
    """A fake Lambda client that records invocations. The functions in `denied` cannot be invoked."""

    def __init__(self, *denied: str) -> None:
        self.invoked: list[tuple[str, str, bytes]] = []
        self._denied = denied

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> Mapping[str, object]:  # noqa: N803
        if FunctionName in self._denied:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "Invoke")
        self.invoked.append((FunctionName, InvocationType, Payload))
        return {}


def warm_up(functions: Any, names: list[str], warnings: list[str]) -> WarmUp:
    return WarmUp(lambda: functions, names, warnings.append)


def test_sends_each_function_one_event_without_waiting_for_responses() -> None:
    functions, warnings = Functions(), list[str]()
    events = warm_up(functions, ["filter:live", "preempt:live"], warnings)
    assert events.step() == 10.0
    payload = b'{"source":"berth.warm-up"}'
    assert functions.invoked == [("filter:live", "Event", payload), ("preempt:live", "Event", payload)]
    assert warnings == []


def test_failing_function_does_not_prevent_events_to_other_functions() -> None:
    functions, warnings = Functions("filter:live"), list[str]()
    events = warm_up(functions, ["filter:live", "preempt:live"], warnings)
    events.step()
    assert [name for name, _, _ in functions.invoked] == ["preempt:live"]
    assert len(warnings) == 1
    assert warnings[0].startswith("filter:live was not warmed up: ")
