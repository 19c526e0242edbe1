"""Started by the schedule: keeps the node cache up to date with the cluster for as long as the function may run."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.cluster_settings import WatcherSettings
    from berth.runtime.watcher.watcher_function import LambdaContext, WatcherFunction

    watcher = WatcherFunction(WatcherSettings.from_environ(os.environ))


def handler(event: object, context: LambdaContext) -> dict[str, str | int]:
    """The event may have a `mode`, for an invocation by hand; the answer is the result of the run."""
    return watcher.handle(event, context)
