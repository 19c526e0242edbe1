"""The watcher process: its settings, run after run until it is stopped, and the files that a pod's probes read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.cluster_settings import WatcherMode
from berth.runtime.settings import deployed
from berth.runtime.watcher.watcher_function import LambdaContext
from berth_cli.server.watcher_process import (
    ALIVE,
    READY,
    RUN_SECONDS,
    TOUCH_SECONDS,
    Health,
    WatcherProcess,
    watcher_settings,
)
from berth_cli.sources.stack import DeployedStack, StackUnavailable
from tests.deployment.template import Deployment, read_template
from tests.fakes.clock import HandDrivenClock

OUTPUTS = {
    "CacheTableName": "berth-CacheTable-1",
    "LedgerTableName": "berth-LedgerTable-1",
    "HttpTimeoutSeconds": "10",
    "WarmUpFunctions": "arn:filter:live,arn:bind:live",
}
STACK = DeployedStack("berth", None, {"Profile": "full", "WatcherMode": "external"}, OUTPUTS)


def test_settings_are_read_from_the_stack() -> None:
    found = watcher_settings(STACK, None)
    assert (found.cache_table, found.ledger_table) == ("berth-CacheTable-1", "berth-LedgerTable-1")
    assert (found.http_timeout, deployed(found.configuration).profile) == (10.0, "full")
    assert found.warm_up_functions == ("arn:filter:live", "arn:bind:live")
    assert found.mode is WatcherMode.CONTINUOUS
    assert found.standby, "no schedule starts a successor"


def test_cluster_comes_from_the_pod_or_the_kubeconfig() -> None:
    in_pod, outside = watcher_settings(STACK, None), watcher_settings(STACK, Path("kubeconfig"))
    assert (in_pod.in_cluster, in_pod.kubeconfig) == (True, None)
    assert (outside.in_cluster, outside.kubeconfig) == (False, Path("kubeconfig"))


def test_template_has_every_output_that_the_settings_read() -> None:
    stack = Deployment(read_template(), Authentication="basic", WatcherMode="external")
    assert set(OUTPUTS) <= set(stack.outputs())


def test_rejects_a_stack_of_another_application() -> None:
    with pytest.raises(StackUnavailable, match="is it a Berth stack"):
        watcher_settings(DeployedStack("other", None, {}, {}), None)


class ScriptedWatcher:
    """Calls the next step in each run, and stops the process after the last step."""

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
    "outcome", [WatcherOutcome.DEPOSED, WatcherOutcome.NOT_NEEDED, WatcherOutcome.CLUSTER_UNAVAILABLE]
)
def test_stop_interrupts_a_pause(outcome: WatcherOutcome) -> None:
    watcher = ScriptedWatcher(lambda _: outcome)
    watcher.process.run()
    assert watcher.runs == 1


def test_exception_in_a_run_does_not_end_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_cli.server.watcher_process.FAILED_PAUSE_SECONDS", 0.0)
    watcher = ScriptedWatcher(fails, hands_over)
    watcher.process.run()
    assert watcher.runs == 2


def test_progress_touches_the_alive_file_every_ten_seconds(tmp_path: Path) -> None:
    clock = HandDrivenClock()
    health = Health(tmp_path / "health", clock)
    health.progressed()
    alive = tmp_path / "health" / ALIVE
    os.utime(alive, (0, 0))
    clock.advance(TOUCH_SECONDS / 2)
    health.progressed()
    assert alive.stat().st_mtime == 0
    clock.advance(TOUCH_SECONDS / 2)
    health.progressed()
    assert alive.stat().st_mtime > 0


def test_ready_file_exists_after_a_leader_is_known(tmp_path: Path) -> None:
    health = Health(tmp_path, HandDrivenClock())
    health.new_leader("")  # the lease was released
    assert not (tmp_path / READY).exists()
    health.new_leader("watcher_1")
    health.new_leader("")
    assert (tmp_path / READY).exists()


def test_ready_file_of_a_previous_container_is_removed(tmp_path: Path) -> None:
    (tmp_path / READY).touch()
    Health(tmp_path, HandDrivenClock())
    assert not (tmp_path / READY).exists()


@pytest.mark.parametrize("name", [None, "removed"], ids=["no directory", "a full disk"])
def test_health_files_that_cannot_be_written_do_not_stop_the_watcher(tmp_path: Path, name: str | None) -> None:
    health = Health(None if name is None else tmp_path / name, HandDrivenClock())
    if name is not None:
        (tmp_path / name).rmdir()
    health.progressed()
    health.new_leader("watcher_1")
