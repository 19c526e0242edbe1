"""Loads the first call's data while the environment starts, if Lambda starts the environment before there is a call.

A cold start for a waiting call does not do this. With provisioned concurrency callers do not wait for the
initialization. With SnapStart the image cannot contain the tables' data, which would be weeks old, so the runtime loads
it in a hook after each restore. The runtime contains the library snapshot_restore_py.

A failed or late load does not fail the start: the first call then loads, and reports the failure. An exception of the
hook would end the environment, and so would a hook that takes longer than 10 s, together with the runtime's start
(https://docs.aws.amazon.com/lambda/latest/dg/snapstart-runtime-hooks-python.html).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from berth.extender.deadline import BoundedReads, Deadline, DeadlinePassed
from berth.runtime.environment import SchedulerSettings

MAX_LOAD_SECONDS = 7.0
"""The most seconds that a start waits for the load. After a restore a caller waits, half its httpTimeout at most."""

log = logging.getLogger("berth")


def load_before_first_call(load: Callable[[], object], settings: SchedulerSettings) -> None:
    """Call `load` now or after each restore, or not at all. Never raises. Call it while the function is imported."""

    def attempt(seconds: float) -> None:
        try:
            BoundedReads().before(Deadline(seconds, time.monotonic), load)
        except DeadlinePassed:
            log.warning("the first call was not prepared within %g s, and loads what is missing", seconds)
        except Exception as error:
            log.warning("the first call was not prepared: %s: %s", type(error).__name__, error)

    # The values of the variable: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    if settings.initialization_type == "provisioned-concurrency":
        attempt(MAX_LOAD_SECONDS)
    elif settings.initialization_type == "snap-start":
        from snapshot_restore_py import register_after_restore  # type: ignore[import-not-found]

        register_after_restore(attempt, min(MAX_LOAD_SECONDS, settings.http_timeout / 2))
