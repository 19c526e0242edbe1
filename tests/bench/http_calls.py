"""Calls of `berth serve` over HTTP, beside an extender that answers without looking, in the same run.

The servers have processes of their own. The clock is the client's wall clock, and calls alternate, so that a busy
machine slows both alike. `.p5` is the call that is slower than one in twenty: on a busy machine it is near to what an
idle one shows. `.processor` is the server's processor time for a call.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from signal import SIGINT
from statistics import median, quantiles
from typing import Self

import orjson

from tests.bench import cluster
from tests.bench.figures import Family, Figure
from tests.e2e.berth.berth_serve import COMMAND
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.loopback import HOST, free_port

TARGETS = {1_000: 0.7, 5_000: 1.2}
"""Milliseconds of one filter call, by nodes."""

VERBS = ("filter", "prioritize", "filter_onlyone")
CALLS = 300
WARM_UP = 20
START_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


def families() -> Iterator[Family]:
    """One family for each size."""
    for nodes in TARGETS:
        yield Family(f"http.{nodes}", partial(_measure, nodes))


@dataclass(slots=True)
class Server:
    """A running server and the times of its calls, in seconds."""

    process: ChildProcess
    connection: HTTPConnection
    seconds: list[float] = field(default_factory=list)
    used_before: float = 0.0

    def begin(self) -> None:
        """Forget the calls before."""
        self.seconds, self.used_before = [], self._processor_seconds()

    def call(self, verb: str, body: bytes) -> bytes:
        """The answer's body."""
        started = time.perf_counter()
        self.connection.request("POST", f"/scheduler/{verb}", body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        content = answer.read()
        self.seconds.append(time.perf_counter() - started)
        assert answer.status == 200, content[:200]
        return content

    def figures(self, name: str, target: float | None) -> Iterator[Figure]:
        """Of the calls since `begin`."""
        used = (self._processor_seconds() - self.used_before) / len(self.seconds)
        yield Figure(name, median(self.seconds) * 1000, "ms", target)
        yield Figure(f"{name}.p5", quantiles(self.seconds, n=20)[0] * 1000, "ms")
        yield Figure(f"{name}.processor", used * 1000, "ms")

    def _processor_seconds(self) -> float:
        """What the process has used since its start."""
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / TICKS


class Servers:
    """Berth on a dump of so many nodes; and null extenders, one for each answer."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self._folder = Path(self._running.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def berth(self, *options: str) -> Server:
        """Under label-priority, with these options."""
        dump = self._folder / "cluster.json"
        manifests = [{"kind": "Node", **cluster.node_manifest(index)} for index in range(self._nodes)]
        dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
        port = free_port()
        words = [f"--cluster={dump}", f"--port={port}", "--profile=label-priority", *options]
        return self._start([COMMAND, "serve", *words], port)

    def null(self, answer: bytes) -> Server:
        """It always gives this answer."""
        port = free_port()
        file = self._folder / f"answer-{port}"
        file.write_bytes(answer)
        return self._start([sys.executable, "-m", "tests.bench.null_extender", port, file], port)

    def _start(self, command: Sequence[object], port: int) -> Server:
        return started(command, port, self._folder, self._running)


def started(command: Sequence[object], port: int, folder: Path, running: ExitStack) -> Server:
    """The server of this command, once it listens on the port."""
    process = ChildProcess([str(word) for word in command], folder / f"{port}.log")
    running.callback(process.stop, SIGINT)
    server = Server(process, HTTPConnection(HOST, port))
    running.callback(server.connection.close)
    process.wait_until(partial(_listens, server.connection), seconds=START_SECONDS)
    return server


def _listens(connection: HTTPConnection) -> bool:
    try:
        connection.connect()
    except OSError:
        return False
    return True


def _measure(nodes: int) -> Iterator[Figure]:
    medians: dict[str, float] = {}
    with Servers(nodes) as servers:
        berth = servers.berth()
        for verb in VERBS:
            name, bodies = f"http.{nodes}.{verb}", cycle(list(request_bodies(nodes)))
            null = servers.null(berth.call(verb, next(bodies)))
            for calls in (WARM_UP, CALLS):
                berth.begin()
                null.begin()
                for body, _ in zip(bodies, range(calls), strict=False):
                    berth.call(verb, body)
                    null.call(verb, body)
            found = [
                *berth.figures(name, TARGETS[nodes] if verb == "filter" else None),
                *null.figures(f"{name}.null", None),
            ]
            medians |= {figure.name: figure.value for figure in found}
            yield from found
    of_berth, of_null = (
        sum(medians[f"http.{nodes}.{verb}{who}"] for verb in ("filter", "prioritize")) for who in ("", ".null")
    )
    yield Figure(f"http.{nodes}.filter_and_prioritize.null_ratio", of_null / of_berth, "x")


def request_bodies(nodes: int) -> Iterator[bytes]:
    """Of one pod each, of several shapes, with the names in an order that differs."""
    for index, names in enumerate(cluster.requested_names(nodes)):
        yield orjson.dumps({"Pod": cluster.pod_manifest(index), "Nodes": None, "NodeNames": names})
