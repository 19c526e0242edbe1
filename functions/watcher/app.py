"""Started by the schedule: keeps the node cache up to date with the cluster for as long as the function may run."""

import os

from berth.runtime.settings import WatcherSettings
from berth.runtime.watcher.watcher_function import LambdaContext, WatcherFunction

watcher = WatcherFunction(WatcherSettings.from_environ(os.environ))


def handler(event: object, context: LambdaContext) -> dict[str, str | int]:
    """Whoever invokes it by hand may name a `mode` in the event; the answer is what the run did."""
    return watcher.handle(event, context)
