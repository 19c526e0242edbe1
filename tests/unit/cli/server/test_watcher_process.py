"""The watcher process: run after run until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.watcher.watcher_function import LambdaContext
from berth_cli.server.watcher_process import RUN_SECONDS, WatcherProcess
from tests.fakes.clock import HandDrivenClock


class ScriptedWatcher:
    """Each run calls the next step; the last one stops the process."""

    def __init__(self, *steps: Callable[[LambdaContext], str]) -> None:
        self.clock = HandDrivenClock()
        self.progress = 0
        self.runs = 0
        self.process = WatcherProcess(self._watch, self._progressed, self.clock)
        self._steps = steps

    def _progressed(self) -> None:
        self.progress += 1

    def _watch(self, event: object, context: LambdaContext) -> Mapping[str, str | int]:
        self.runs += 1
        outcome = self._steps[self.runs - 1](context)
        if self.runs == len(self._steps):
            self.process.stop()
        return {"outcome": outcome}


def hands_over(context: LambdaContext) -> str:
    return WatcherOutcome.HANDED_OVER


def fails(context: LambdaContext) -> str:
    raise RuntimeError("a defect")


def test_next_run_starts_immediately_after_a_handover() -> None:
    watcher = ScriptedWatcher(hands_over, hands_over, hands_over)
    watcher.process.run()
    assert watcher.runs == 3


def test_run_gets_the_time_limit_of_a_function() -> None:
    remaining: list[int] = []

    def look(context: LambdaContext) -> str:
        remaining.append(context.get_remaining_time_in_millis())
        watcher.clock.advance(RUN_SECONDS - 1)
        remaining.append(context.get_remaining_time_in_millis())
        return WatcherOutcome.HANDED_OVER

    watcher = ScriptedWatcher(look)
    watcher.process.run()
    assert remaining == [RUN_SECONDS * 1000, 1000]
    assert watcher.progress == 2


def test_stop_sets_the_remaining_time_of_a_run_to_zero() -> None:
    remaining: list[int] = []

    def look(context: LambdaContext) -> str:
        watcher.process.stop()
        remaining.append(context.get_remaining_time_in_millis())
        return WatcherOutcome.HANDED_OVER

    watcher = ScriptedWatcher(look, hands_over)
    watcher.process.run()
    assert (remaining, watcher.runs) == ([0], 1)


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(WatcherOutcome.DEPOSED, id="another leader"),
        pytest.param(WatcherOutcome.NOT_NEEDED, id="a leader and a standby exist"),
        pytest.param(WatcherOutcome.CLUSTER_UNAVAILABLE, id="no cluster"),
    ],
)
def test_stop_interrupts_a_pause(outcome: WatcherOutcome) -> None:
    watcher = ScriptedWatcher(lambda _: outcome)
    watcher.process.run()
    assert watcher.runs == 1


def test_defect_does_not_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_cli.server.watcher_process.FAILED_PAUSE_SECONDS", 0.0)
    watcher = ScriptedWatcher(fails, hands_over)
    watcher.process.run()
    assert watcher.runs == 2
