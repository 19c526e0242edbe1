"""`python -m tests.bench.counts`: counts of a warm call, of a cold call and of an import, with the committed values.

They are nearly the same on every machine. `make test-long` compares them with counts.json; `--write` writes the current
counts there. `calls` are function calls, in Python and in C; `calls.http` are the calls of the local gateway.
`allocated` is the peak of the memory that a call allocates. `bytes.read` is the size of the parts of a snapshot that a
policy reads.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES as NODES_RESOURCE
from berth.cluster.watch.resources import PODS as PODS_RESOURCE
from berth.extender.outcomes import BindOutcome
from berth.nodecache.feed.changes import Change, pack
from berth.nodecache.feed.head import SnapshotPointer
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_ONLY, Parts
from berth_cli.server.gateway import Gateway
from berth_cli.server.http.messages import Request
from tests.bench import cluster
from tests.builders.function_process import run
from tests.builders.nodes import labelled, labelled_object
from tests.builders.pods import pod_object
from tests.builders.requests import body_of, cache_mode
from tests.fakes.binding_world import World
from tests.fakes.cache_tables import CountingCacheTable
from tests.fakes.published import PublishedCluster
from tests.fakes.verbs import Verbs

PROJECT = Path(__file__).parents[2]
COMMITTED = Path(__file__).with_suffix(".json")
NODES = 1000
VERBS = ("filter", "filter_onlyone", "prioritize")
FUNCTIONS = ("filter", "bind", "watcher", "authorizer")
# The modules that the standard library loads differ between versions of Python.
COUNT_MODULES = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(sum(name.partition(".")[0] not in sys.stdlib_module_names for name in sys.modules))
"""


MARGINS: Mapping[str, float] = {
    "imports": 0.02,
    "requests": 0.0,
    # These differ by a few percent between minor versions of Python.
    "calls": 0.10,
    "allocated": 0.25,
    "bytes": 0.02,
}
"""Allowed excess as a share, by the first part of a count's name."""


def excesses(measured: Mapping[str, float]) -> list[str]:
    """Return counts above their committed value and margin, and counts without a committed value."""
    committed: Mapping[str, float] = json.loads(COMMITTED.read_text())
    limits = {name: value * (1 + MARGINS[name.partition(".")[0]]) for name, value in committed.items()}
    return [
        f"{name}: {value:g}, and at most {limits.get(name, 0):g} is committed"
        for name, value in measured.items()
        if value > limits.get(name, -1)
    ]


def measured() -> Mapping[str, float]:
    """Return the counts by name, in the order of the page."""
    return dict([*_imports(), *_cold(), *_warm(), *_changed(), *_after_pod_changes(), *_http(), *_binds(), *_bytes()])


def _imports() -> Iterator[tuple[str, float]]:
    """Yield how many modules outside the standard library each handler imports in a separate process."""
    for function in FUNCTIONS:
        lines = run("-c", COUNT_MODULES, str(PROJECT / "functions" / function / "app.py"))
        yield f"imports.{function}", json.loads(lines[-1])


def _cold() -> Iterator[tuple[str, float]]:
    """Yield the number of requests to the table in the first call of an environment."""
    verbs = _verbs("label-priority")
    _ask(verbs, "filter", NODES)
    yield "requests.cold.filter", len(verbs.table.calls)


def _warm() -> Iterator[tuple[str, float]]:
    for profile in ("label-priority", "full"):
        verbs = _verbs(profile)
        for verb in VERBS if profile == "label-priority" else VERBS[:1]:
            name = f"{verb}.{profile}"
            for _ in range(3):
                _ask(verbs, verb, NODES)
            verbs.table.calls.clear()
            again = partial(_ask, verbs, verb, NODES)
            yield f"calls.warm.{name}", function_calls(again)
            yield f"requests.warm.{name}", len(verbs.table.calls)
            yield f"allocated.warm.{name}", _allocated(again)


def _changed() -> Iterator[tuple[str, float]]:
    """Yield counts of a filter call after 1 % of the nodes changed, in an environment that has seen such changes."""
    for profile in ("label-priority", "full"):
        verbs, priorities = _verbs(profile), count(1)
        change = partial(_change, verbs, priorities)
        again = partial(_ask, verbs, "filter", NODES)
        for _ in range(3):
            again()
            change()
        yield f"calls.changed.filter.{profile}", function_calls(again)
        yield f"allocated.changed.filter.{profile}", _allocated(again, change)


def _change(verbs: Verbs, priorities: Iterator[int]) -> None:
    names, priority = map(cluster.node_name, range(NODES // 100)), str(next(priorities))
    verbs.cluster.publish("nodes", [labelled_object(name, priority) for name in names])


def _binds() -> Iterator[tuple[str, float]]:
    """Yield the requests of a warm bind to tables and API server, with and without rules about other pods."""
    for name, announces in (("plain", False), ("rules-about-pods", True)):
        world = World()
        world.bind("warm-up")
        requests: list[str] = []
        for owner, methods in (
            (world.log, ("begin", "read", "append", "withdraw", "trim")),
            (world.published.table, ("head", "head_eventually", "log", "chunks")),
            (world, ("pod", "create_binding")),
        ):
            for method in methods:
                _record(owner, method, requests)
        assert world.bind("p", on="node-b", announces=announces).outcome is BindOutcome.BOUND
        yield f"requests.warm.bind.{name}", len(requests)


def _record(owner: object, name: str, requests: list[str]) -> None:
    method = getattr(owner, name)

    def recorded(*arguments: Any, **named: Any) -> Any:
        requests.append(name)
        return method(*arguments, **named)

    setattr(owner, name, recorded)


def _http() -> Iterator[tuple[str, float]]:
    """Yield the calls of berth serve's gateway, between HTTP server and function."""
    body = _body(NODES)
    sent = body.encode() if isinstance(body, str) else body
    gateway = Gateway({"POST /scheduler/filter": lambda event, context: {"statusCode": 200, "headers": {}, "body": ""}})
    headers = {"host": "127.0.0.1", "content-type": "application/json"}
    request = Request("POST", "/scheduler/filter", "", headers, "127.0.0.1", body=sent)

    def call() -> None:
        assert gateway.begin(request) is None
        gateway.answer(request)

    call()
    with _counting_calls() as number:
        call()
    yield "calls.http.filter", number()


class _MeasuredTable(CountingCacheTable):
    """A table that measures. read: the bytes of the snapshot chunks that were read."""

    read = 0

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> Sequence[bytes | None]:  # type: ignore[override]
        found = super().chunks(snapshot, parts)
        self.read += sum(len(chunk or b"") for chunk in found)
        return found


def _read_by_parts() -> Iterator[tuple[str, float]]:
    published, trims = PublishedCluster(), projections(RequiredFields())
    pods = [cluster.pod_manifest(index) for index in range(cluster.CONTROLLERS)]
    for index, pod in enumerate(pods):
        pod["spec"]["nodeName"] = cluster.node_name(index)
    published.publish("nodes", [trims[NODES_RESOURCE](cluster.node_manifest(index)) for index in range(NODES)])
    published.publish("pods", map(trims[PODS_RESOURCE], pods))
    published.compact()
    for name, parts in (("nodes", NODES_ONLY), ("all", ALL_PARTS)):
        table = _MeasuredTable(published.table)
        NodeCacheReader(table, SnapshotView(), published.clock.advance).at(table.head(), parts=parts)
        yield f"bytes.read.{name}", table.read


def _after_pod_changes() -> Iterator[tuple[str, float]]:
    """Yield the requests to the table in a warm call after a change of pods, with a policy that reads only nodes."""
    verbs = _verbs("label-priority")
    _ask(verbs, "filter", NODES)
    verbs.cluster.publish("pods", [pod_object("p", "ml", "uid-p")])
    verbs.table.calls.clear()
    _ask(verbs, "filter", NODES)
    yield "requests.after_pod_changes.filter.label-priority", len(verbs.table.calls)


def _bytes() -> Iterator[tuple[str, float]]:
    """Yield the bytes of answers, of nodes as the watcher publishes them, and of a cold verb's reads."""
    verbs = _verbs("label-priority")
    for verb in VERBS:
        yield f"bytes.answer.{verb}", len(_ask(verbs, verb, NODES))
    trim = projections(RequiredFields())[NODES_RESOURCE]
    nodes = [trim(cluster.node_manifest(index)) for index in range(NODES)]
    changes = [Change("nodes", cluster.node_name(index), node) for index, node in enumerate(nodes)]
    yield "bytes.published.nodes", sum(map(len, pack(changes).items))
    yield from _read_by_parts()


def _verbs(profile: str) -> Verbs:
    nodes = [labelled(cluster.node_name(index), str(index % 4 * 10)) for index in range(NODES)]
    return Verbs(nodes, configuration=BerthConfiguration(profile=profile))


def _ask(verbs: Verbs, verb: str, nodes: int) -> str:
    return verbs.send(verb, _body(nodes)).text


@cache
def _body(nodes: int) -> str | bytes:
    names = [cluster.node_name(index) for index in range(nodes)]
    return body_of(cache_mode(names, cluster.plain_pod()))


def function_calls(call: Callable[[], object]) -> int:
    """Return the number of function calls in this thread, in Python and in C."""
    with _counting_calls() as number:
        call()
    return number()


@contextmanager
def _counting_calls() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the number of function calls in the block."""
    number = 0

    def seen(_: FrameType, event: str, __: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(seen)
    try:
        yield lambda: number
    finally:
        sys.setprofile(None)
        gc.enable()


def _allocated(call: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> int:
    """Return the peak of the bytes that a second call allocates. prepare: runs before each call, unmeasured."""
    prepare()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        call()
        prepare()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        gc.enable()


if __name__ == "__main__":
    shown_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115  (the calls print their log lines)
    found = measured()
    if "--write" in sys.argv:
        COMMITTED.write_text(json.dumps(found, indent=1) + "\n")
    print(*(f"{name:<50}{value:>12g}" for name, value in found.items()), *excesses(found), sep="\n", file=shown_to)
