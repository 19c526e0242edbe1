"""The scheduled function that keeps the node cache up to date with the cluster until shortly before its timeout."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.cluster_settings import WatcherSettings
    from berth.runtime.watcher.watcher_function import LambdaContext, WatcherFunction

    watcher = WatcherFunction(WatcherSettings.from_environ(os.environ))


def handler(event: object, context: LambdaContext) -> dict[str, str | int]:
    """Run the watcher and return the result. A manual invocation may pass a `mode` in the event."""
    return watcher.handle(event, context)
