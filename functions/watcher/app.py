"""Started by the schedule: brings the node cache up to date with the cluster."""

import os
import time
import uuid
from functools import cache

from berth.nodecache.cluster import ClusterUnavailable
from berth.nodecache.watcher import Watcher, WatcherOutcome, WatcherRun
from berth.runtime.adapters import cache_table, node_cache
from berth.runtime.cluster import connect
from berth.runtime.settings import WatcherSettings
from berth.runtime.telemetry import Telemetry

settings = WatcherSettings.from_environ(os.environ)
telemetry = Telemetry("watcher")


@cache
def watcher() -> Watcher:
    """One per warm environment. Raises ClusterUnavailable."""
    cluster = connect(settings)
    return Watcher(
        cluster.nodes,
        cache_table(settings),
        node_cache(settings),
        cluster.queue,
        clock=time.time,
        new_id=lambda: uuid.uuid4().hex,
    )


def run() -> WatcherRun:
    """One list, one publication."""
    try:
        return watcher().run()
    except ClusterUnavailable as error:
        return WatcherRun(WatcherOutcome.CLUSTER_UNAVAILABLE, reason=str(error))


def handler(event: object, context: object) -> dict[str, str | int]:
    """The event says nothing; the answer is what the run did, for whoever invokes it by hand."""
    with telemetry.traced():
        started = time.perf_counter()
        done = run()
        unreadable = f", {done.unreadable} unreadable" if done.unreadable else ""
        telemetry.ended(
            done.outcome,
            pod="",
            detail=done.reason or done.unwoken or f"{done.nodes} nodes{unreadable}, version {done.version}",
            milliseconds=(time.perf_counter() - started) * 1000,
            failed=bool(done.reason or done.unwoken),
        )
    return {
        "outcome": done.outcome,
        "version": done.version,
        "nodes": done.nodes,
        "reason": done.reason or done.unwoken,
    }
