"""Calls of `berth serve` on a cluster whose pods change, and what its threads take of the processor meanwhile.

As `http_calls`, with an API server in a process of its own. `.threads.watch` are the threads of the watcher that read
the API server, `.threads.watcher` the one that publishes, `.threads.functions` those of the verbs,
`.threads.server` the one of the HTTP server: milliseconds of the processor for each second of the clock.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from signal import SIGTERM

from tests.bench.figures import Family, Figure
from tests.bench.http_calls import VERBS, Server, request_bodies, started
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.loopback import free_port

CLUSTERS = (("label-priority", 1_000), ("label-priority", 5_000), ("full", 5_000))
"""Profiles and numbers of nodes."""

CHANGES = (0, 10, 100)
"""Pods that come or go, a second."""

CALLS_A_SECOND = 20
SECONDS = 12.0
START_SECONDS = 120
WARM_UP = 20
THREADS = {
    "watch": ("watch-nodes", "watch-pods"),
    "watcher": ("watcher",),
    "functions": ("function",),
    "server": ("MainThread",),
}


def families() -> Iterator[Family]:
    """One family for each profile and size."""
    for profile, nodes in CLUSTERS:
        yield Family(f"http.changing.{profile}.{nodes}", partial(_measure, profile, nodes))


def _measure(profile: str, nodes: int) -> Iterator[Figure]:
    for changes in CHANGES:
        with ExitStack() as running:
            folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
            server, times = _berth(profile, nodes, changes, folder, running)
            all_bodies = cycle(list(request_bodies(nodes)))
            _wait(server, next(all_bodies))
            for verb in VERBS:
                for _ in range(WARM_UP):
                    server.call(verb, next(all_bodies))
            for verb in VERBS[:2]:
                name = f"http.changing.{profile}.{nodes}.changes_{changes}.{verb}"
                server.begin()
                before, began = times(), time.perf_counter()
                while (elapsed := time.perf_counter() - began) < SECONDS:
                    server.call(verb, next(all_bodies))
                    time.sleep(max(0.0, len(server.seconds) / CALLS_A_SECOND - elapsed))
                yield from server.figures(name, None)
                after, elapsed = times(), time.perf_counter() - began
                for label, threads in THREADS.items():
                    used = sum(after.get(each, 0.0) - before.get(each, 0.0) for each in threads)
                    yield Figure(f"{name}.threads.{label}", used * 1000 / elapsed, "ms/s")


def _wait(server: Server, body: bytes) -> None:
    """Until the cluster has been listed."""
    until = time.monotonic() + START_SECONDS
    while json.loads(server.call("filter", body))["Error"]:
        assert time.monotonic() < until, f"the cluster was not listed within {START_SECONDS} s"
        time.sleep(0.5)


def _berth(
    profile: str, nodes: int, changes: int, folder: Path, running: ExitStack
) -> tuple[Server, partial[Mapping[str, float]]]:
    cluster = ChildProcess(
        [sys.executable, "-m", "tests.bench.changing_cluster", folder, str(nodes), str(changes)], folder / "cluster.log"
    )
    running.callback(cluster.stop, SIGTERM)
    kubeconfig, times = folder / "kubeconfig", folder / "threads.json"
    cluster.wait_until(kubeconfig.exists, seconds=60)
    port = free_port()
    options = [f"--kubeconfig={kubeconfig}", f"--port={port}", f"--profile={profile}"]
    command = [sys.executable, "-m", "tests.bench.thread_times", times, "serve", *options]
    return started(command, port, folder, running), partial(_read, times)


def _read(times: Path) -> Mapping[str, float]:
    found: dict[str, float] = json.loads(times.read_text())
    return found
