"""Started by the schedule: keeps the node cache up to date with the cluster for as long as the function may run."""

import os
import time
from typing import Protocol

from berth.runtime.settings import WatcherMode, WatcherSettings
from berth.runtime.telemetry.telemetry import Telemetry
from berth.runtime.watcher.watcher_loop import watch
from berth.runtime.watcher.watcher_run import Run

settings = WatcherSettings.from_environ(os.environ)
telemetry = Telemetry("watcher")


class Context(Protocol):
    """What the watcher asks of the Lambda context."""

    def get_remaining_time_in_millis(self) -> int:
        """Until the function is stopped."""


def handler(event: object, context: Context) -> dict[str, str | int]:
    """Whoever invokes it by hand may name a `mode` in the event; the answer is what the run did."""
    with telemetry.traced():
        started = time.perf_counter()
        done = watch(Run(settings, _mode(event), lambda: context.get_remaining_time_in_millis() / 1000))
        telemetry.ended(
            done.outcome,
            pod="",
            detail=done.told,
            milliseconds=(time.perf_counter() - started) * 1000,
            failed=done.failed,
        )
    return {
        "outcome": done.outcome,
        "publications": done.publications,
        "objects": done.objects,
        "nodes": done.nodes,
        "reason": done.reason,
    }


def _mode(event: object) -> WatcherMode:
    named = event.get("mode") if isinstance(event, dict) else None
    return WatcherMode(named) if named in set(WatcherMode) else settings.mode
