"""Runs the watcher repeatedly until it is stopped. Each run has the time limit of the watcher function, and ends with
the same handover. So a lost table, a changed configuration or a lost lease is detected in the next run at the latest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event

import orjson

from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.cluster_settings import WatcherSettings
from berth.runtime.watcher.watcher_function import LambdaContext
from berth_cli.sources.stack import CACHE_TABLE_NAME, LEDGER_TABLE_NAME, WARM_UP_FUNCTIONS, DeployedStack

RUN_SECONDS = 15 * 60.0
"""The maximum duration of a Lambda function in seconds."""

FAILED_PAUSE_SECONDS = 5.0
PAUSE_SECONDS = {WatcherOutcome.HANDED_OVER.value: 0.0, WatcherOutcome.NOT_NEEDED.value: 60.0}
"""The pause in seconds by outcome. NOT_NEEDED: a leader and a standby exist, so this process retries after a minute, as
the schedule does."""

log = logging.getLogger("berth")


class WatcherProcess:
    """Runs the watcher, and serves as the Lambda context of its runs. Call `run` in one thread; a signal handler may
    call `stop`."""

    def __init__(
        self,
        watch: Callable[[object, LambdaContext], Mapping[str, str | int]],
        progressed: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the runs. watch: the handler of the watcher function. progressed: called several times a second,
        unless the watcher hangs. monotonic: returns seconds."""
        self._watch = watch
        self._progressed = progressed
        self._monotonic = monotonic
        self._stopped = Event()
        self._until = 0.0

    def run(self) -> None:
        """Run until `stop`; then the watcher publishes pending changes and releases the lease."""
        while not self._stopped.is_set():
            self._until = self._monotonic() + RUN_SECONDS
            try:
                outcome = str(self._watch({}, self)["outcome"])
            except Exception:
                log.exception("the watcher failed; the next run starts in %g s", FAILED_PAUSE_SECONDS)
                outcome = ""
            self._stopped.wait(PAUSE_SECONDS.get(outcome, FAILED_PAUSE_SECONDS))

    def stop(self) -> None:
        """End the run within a second, and do not start another one."""
        self._stopped.set()

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining time of the run."""
        self._progressed()
        return 0 if self._stopped.is_set() else int(max(0.0, self._until - self._monotonic()) * 1000)


ALIVE, READY = "alive", "ready"

TOUCH_SECONDS = 10.0
"""The interval in seconds at which ALIVE is touched. A watcher that has not touched it for 2 min counts as hung."""


class Health:
    """Writes the health files. ALIVE: its modification time is the time of the last progress. READY: exists once a
    leader is known (this process or another one)."""

    def __init__(self, directory: Path | None, monotonic: Callable[[], float]) -> None:
        """Create the directory. directory: None for no files. Raises OSError."""
        self._directory = directory
        self._monotonic = monotonic
        self._touched_at: float | None = None
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / READY).unlink(missing_ok=True)

    def progressed(self) -> None:
        """Touch ALIVE: the watcher does not hang. Called at least twice a second."""
        now = self._monotonic()
        if self._touched_at is None or now - self._touched_at >= TOUCH_SECONDS:
            self._touched_at = now
            self._touch(ALIVE)

    def new_leader(self, holder: str) -> None:
        """Create READY if the lease has a holder. holder: empty if the lease is free."""
        if holder:
            self._touch(READY)

    def _touch(self, name: str) -> None:
        if self._directory is not None:
            with suppress(OSError):  # the probe detects that the file is missing
                (self._directory / name).touch()


def watcher_settings(stack: DeployedStack, kubeconfig: Path | None) -> WatcherSettings:
    """Build the settings. kubeconfig: None for the pod's service account. Raises StackUnavailable and SettingsInvalid.

    A process stays as a standby until the leader fails, because no schedule would start it again.
    """
    profile = stack.parameters.get("Profile")
    return WatcherSettings.from_environ(
        {
            "BERTH_CACHE_TABLE": stack.output(CACHE_TABLE_NAME),
            "BERTH_LEDGER_TABLE": stack.output(LEDGER_TABLE_NAME),
            "BERTH_HTTP_TIMEOUT": stack.http_timeout,
            "BERTH_CONFIGURATION": orjson.dumps({"profile": profile}).decode() if profile else "",
            "BERTH_SCHEDULER_NAMES": ",".join(sorted(stack.scheduler_names)),
            "BERTH_WATCHER_STANDBY": "true",
            "BERTH_WARM_UP_FUNCTIONS": stack.outputs.get(WARM_UP_FUNCTIONS, ""),
            **({"BERTH_IN_CLUSTER": "true"} if kubeconfig is None else {"BERTH_KUBECONFIG": str(kubeconfig)}),
        }
    )
