"""Counts of a warm call, of a cold one and of an import: nearly the same on every machine.

Calls are those of functions, in Python and in C. Allocated is the most that a call holds at once, beyond what was
there.
"""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import FrameType

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES as NODES_RESOURCE
from berth.nodecache.feed.changes import Change, pack
from berth.scheduling.configuration.document import BerthConfiguration
from tests.bench import cluster
from tests.builders.function_process import run
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.builders.requests import body_of, cache_mode
from tests.fakes.verbs import Verbs

PROJECT = Path(__file__).parents[3]
NODES = 1000
VERBS = ("filter", "filter_onlyone", "prioritize")
FUNCTIONS = ("filter", "bind", "authorizer")
# What the standard library loads differs from one Python to the next.
COUNT_MODULES = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
print(sum(name.partition(".")[0] not in sys.stdlib_module_names for name in sys.modules))
"""


def measured() -> Mapping[str, float]:
    """By name, in the order of the page."""
    return dict([*_imports(), *_cold(), *_warm(), *_after_pod_changes(), *_bytes()])


def _imports() -> Iterator[tuple[str, float]]:
    """Modules outside of the standard library that a function's handler imports, in a process of its own."""
    for function in FUNCTIONS:
        lines = run("-c", COUNT_MODULES, str(PROJECT / "functions" / function / "app.py"))
        yield f"imports.{function}", json.loads(lines[-1])


def _cold() -> Iterator[tuple[str, float]]:
    """Requests to the table of the first call of an environment."""
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
            yield f"calls.warm.{name}", _calls(again)
            yield f"requests.warm.{name}", len(verbs.table.calls)
            yield f"allocated.warm.{name}", _allocated(again)


def _after_pod_changes() -> Iterator[tuple[str, float]]:
    """Requests to the table of a warm call whose policy reads nodes alone."""
    verbs = _verbs("label-priority")
    _ask(verbs, "filter", NODES)
    verbs.cluster.publish("pods", [pod_object("p", "ml", "uid-p")])
    verbs.table.calls.clear()
    _ask(verbs, "filter", NODES)
    yield "requests.after_pod_changes.filter.label-priority", len(verbs.table.calls)


def _bytes() -> Iterator[tuple[str, float]]:
    """Answers, and nodes as the watcher publishes them."""
    verbs = _verbs("label-priority")
    for verb in VERBS:
        yield f"bytes.answer.{verb}", len(_ask(verbs, verb, NODES))
    trim = projections(RequiredFields())[NODES_RESOURCE]
    nodes = [trim(cluster.node_manifest(index)) for index in range(NODES)]
    changes = [Change("nodes", cluster.node_name(index), node) for index, node in enumerate(nodes)]
    yield "bytes.published.nodes", sum(map(len, pack(changes).items))


def _verbs(profile: str) -> Verbs:
    nodes = [labelled(cluster.node_name(index), str(index % 4 * 10)) for index in range(NODES)]
    return Verbs(nodes, configuration=BerthConfiguration(profile=profile))


def _ask(verbs: Verbs, verb: str, nodes: int) -> str:
    return verbs.send(verb, _body(nodes)).text


@cache
def _body(nodes: int) -> str | bytes:
    names = [cluster.node_name(index) for index in range(nodes)]
    return body_of(cache_mode(names, cluster.plain_pod()))


def _calls(call: Callable[[], object]) -> int:
    number = 0

    def seen(_: FrameType, event: str, __: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return number


def _allocated(call: Callable[[], object]) -> int:
    """Bytes."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        call()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        gc.enable()
