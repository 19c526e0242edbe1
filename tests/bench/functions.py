"""The memory and processor time of each function. docs/reference/capacity.md derives MemorySize from these figures.

Each function is loaded in a separate process, as Lambda loads it, with a cluster of 5,000 nodes and 150,000 pods in the
cache, and with an empty cache. Times are processor times at full speed: Lambda gives a share, MemorySize / 1,769 MB.
The table is in memory, so the times do not include DynamoDB or an API server.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, islice, repeat
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tests.bench.figures import Family, Figure
from tests.bench.process import peak_megabytes, timed

if TYPE_CHECKING:
    from berth.nodecache.feed.changes import Change
    from berth.nodecache.feed.head import Pointer
    from berth.nodecache.feed.table import CacheTable
    from berth_cli.server.store.cache_table import InMemoryCacheTable

PROJECT = Path(__file__).resolve().parents[2]
PROFILES = ("label-priority", "full")
READERS = ("filter", "filter_onlyone", "prioritize", "preempt")
SHAPES, CALLS, CANDIDATES = 50, 200, 500
SNAPSHOT_ID, SNAPSHOT_VERSION, EPOCH = "snapshot", 1, 1
ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    "POWERTOOLS_METRICS_DISABLED": "true",
    "BERTH_CACHE_TABLE": "cache",
}

NODES = 5_000
LOGGED_PODS, CHANGES_OF_A_FLUSH = 5_000, 50
"""In a benchmark with a log: the number of changes of pods since the snapshot, and of the changes in a flush."""

Measured = dict[str, float]


class Contents(NamedTuple):
    """Contents of a cache table: the chunks of a snapshot by part name, and the log of pods since then."""

    chunks: dict[str, list[bytes]]
    log: list[bytes]

    @property
    def items(self) -> list[bytes]:
        """Return all chunks in their stored order."""
        return [item for items in self.chunks.values() for item in items]


def families() -> Iterator[Family]:
    yield Family("function", figures)


def figures() -> Iterator[Figure]:
    """Yield the figures. imports: until an event can be handled. first: the first event, which loads the snapshot.
    call: the following events. memory: the peak memory."""
    with TemporaryDirectory() as directory:
        clusters = {"5000": Path(directory) / "cluster", "0": Path(directory) / "none"}
        write_contents(clusters["5000"], list(kept()))
        write_contents(clusters["0"], [])
        for nodes, contents in clusters.items():
            for profile in PROFILES if nodes != "0" else PROFILES[:1]:
                for verb in READERS:
                    yield from _figures(f"function.{verb}.{profile}.{nodes}", verb, contents, profile)
            yield from _figures(f"function.healthz.{nodes}", "healthz", contents)
            yield from _figures(f"function.watcher.{nodes}", "watcher", contents)
        for function in ("bind", "authorizer", "pre_traffic"):
            yield from _figures(f"function.{function}", function, clusters["0"])


def kept(nodes: int = NODES) -> Iterator[Change]:
    """Yield all objects of a cluster as the watcher keeps them: 30 pods on each node."""
    from berth.cluster.field_projection import RequiredFields, projections
    from berth.cluster.watch.resources import NODES as NODES_RESOURCE
    from berth.cluster.watch.resources import PODS as PODS_RESOURCE
    from berth.nodecache.feed.changes import Change
    from tests.bench import cluster

    trims = projections(RequiredFields())
    for index in range(nodes):
        name = cluster.node_name(index)
        yield Change("nodes", name, trims[NODES_RESOURCE](cluster.node_manifest(index)))
        for number in range(cluster.PODS_PER_NODE):
            pod = cluster.pod_manifest((index + number * 7) % cluster.CONTROLLERS)
            pod["metadata"] |= {"name": f"pod-{index}-{number}", "uid": f"uid-{index}-{number}"}
            pod["spec"]["nodeName"] = name
            key = f"{pod['metadata']['namespace']}/pod-{index}-{number}"
            yield Change("pods", key, trims[PODS_RESOURCE](pod))


def write_contents(path: Path, changes: Sequence[Change], changed_pods: int = 0) -> Contents:
    """Write a snapshot of these objects, and later changes of `changed_pods` pods, for a process that measures."""
    from berth.nodecache.feed.changes import pack

    chunks = {part.value: list(items) for part, items in pack(changes).by_part.items()}
    pods, draw = [change for change in changes if change.resource == "pods"], random.Random("log")
    flushes = [draw.sample(pods, CHANGES_OF_A_FLUSH) for _ in range(changed_pods // CHANGES_OF_A_FLUSH)]
    contents = Contents(chunks, [item for flush in flushes for item in pack(flush).items])
    path.write_bytes(pickle.dumps(contents))
    return contents


def _figures(name: str, function: str, contents: Path, profile: str = "label-priority") -> Iterator[Figure]:
    run = subprocess.run(
        [sys.executable, "-m", __name__, function, contents, profile],
        check=True,
        capture_output=True,
        cwd=PROJECT,
        env={name: value for name, value in os.environ.items() if not name.startswith("BERTH_")} | ENVIRONMENT,
    )
    measured: Measured = json.loads(run.stdout)
    units = {"imports": "s", "first": "s", "call": "ms", "slowest": "ms", "memory": "MB"}
    for what, value in measured.items():
        yield Figure(f"{name}.{what}", value, units[what], TARGETS.get(f"{name}.{what}"))


TARGETS = {"function.filter.label-priority.5000.memory": 90.0}


def measure(function: str, contents: Contents, profile: str) -> Measured:
    os.environ["BERTH_CONFIGURATION"] = json.dumps({"profile": profile})
    return {**dict.fromkeys(READERS, _reader), **_OTHERS}[function](function, contents)


def _reader(verb: str, contents: Contents) -> Measured:
    imports, app = timed(lambda: _loaded(verb, contents))  # before other imports load a part of it
    from tests.bench import cluster
    from tests.bench.calls import event

    names = [cluster.node_name(index) for index in range(NODES)] if contents.chunks else []
    pods = [cluster.pod_manifest(index) for index in range(SHAPES)]
    if verb == "preempt":
        first, _ = timed(lambda: app.handler({"source": "berth.warm-up"}, None))
        nodes = list(app.cache.current(reads=app.READS).cluster.nodes.values())[:CANDIDATES]
        victims = {node.name: {"Pods": [{"UID": node.pods[-1].uid}], "NumPDBViolations": 0} for node in nodes}
        bodies = [{"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": victims} for pod in pods]
        events = (orjson.dumps({"body": orjson.dumps(body).decode()}) for body in cycle(bodies))
    else:
        as_verb: Any = verb
        events = (event(as_verb, pod, names) for pod in cycle(pods))
        first, _ = timed(partial(_called, app, next(events)))
    return {"imports": imports, "first": first, **_calls(app, events)}


def _healthz(function: str, contents: Contents) -> Measured:
    imports, app = timed(lambda: _loaded(function, contents))
    first, _ = timed(lambda: _called(app, b"{}"))
    return {"imports": imports, "first": first, **_calls(app, repeat(b"{}"))}


def _watcher(function: str, contents: Contents) -> Measured:
    """Measure a watcher that continues from its predecessor's snapshot and writes the next snapshot. Pages of a list,
    500 objects each, are not included."""
    from berth.nodecache.feed.changes import Change, pack, unpack

    os.environ["BERTH_KUBECONFIG"] = "/absent"
    imports, _ = timed(lambda: _loaded(function, contents))
    first, objects = timed(lambda: {(change.resource, change.key): change.object for change in unpack(contents.items)})
    call, _ = timed(lambda: pack(Change(resource, key, found) for (resource, key), found in objects.items()))
    return {"imports": imports, "first": first, "call": call * 1000, "memory": peak_megabytes()}


def _bind(function: str, contents: Contents) -> Measured:
    """Measure a bind without a cluster: its client is created, and the connection is refused."""
    from tests.builders.kubeconfigs import kubeconfig_for

    with TemporaryDirectory() as directory:
        os.environ["BERTH_KUBECONFIG"] = str(kubeconfig_for("https://127.0.0.1:9", Path(directory)))
        os.environ["BERTH_LEDGER_TABLE"] = "ledger"
        imports, app = timed(lambda: _loaded(function, contents))
        body = {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid", "Node": "n10"}
        event = orjson.dumps({"body": orjson.dumps(body).decode()})
        first, _ = timed(lambda: _called(app, event))
        return {"imports": imports, "first": first, **_calls(app, repeat(event))}


def _authorizer(function: str, contents: Contents) -> Measured:
    """Measure the authorizer without credentials: it does not read the secret."""
    os.environ |= {"BERTH_AUTHENTICATION": "basic", "BERTH_PASSWORD_SECRET": "secret"}
    imports, app = timed(lambda: _loaded(function, contents))
    event = (PROJECT / "events/authorizer/basic-no-credentials.json").read_bytes()
    first, _ = timed(lambda: _called(app, event))
    return {"imports": imports, "first": first, **_calls(app, repeat(event))}


def _pre_traffic(function: str, contents: Contents) -> Measured:
    verbs = ("FILTER", "FILTER_ONLYONE", "PRIORITIZE", "BIND", "PREEMPT")
    os.environ |= {f"BERTH_{verb}_VERSION": "arn" for verb in verbs}
    imports, _ = timed(lambda: _loaded(function, contents))
    return {"imports": imports, "memory": peak_megabytes()}


_OTHERS: Mapping[str, Callable[[str, Contents], Measured]] = {
    "healthz": _healthz,
    "watcher": _watcher,
    "bind": _bind,
    "authorizer": _authorizer,
    "pre_traffic": _pre_traffic,
}


def _loaded(function: str, contents: Contents) -> Any:
    """Return the handler's module with an in-memory table."""
    if function not in ("authorizer", "pre_traffic"):
        from berth.runtime import tables

        table = table_of(contents)
        setattr(tables, "DynamoDBCacheTable", lambda *_: table)  # noqa: B010  a name that it only imports
    spec = importlib.util.spec_from_file_location("app", PROJECT / "functions" / function / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table_of(contents: Contents) -> InMemoryCacheTable:
    """Return the table of a watcher that has published these contents."""
    from berth_cli.server.store.cache_table import InMemoryCacheTable
    from berth_cli.server.store.lease_lock import InMemoryItem

    now, uid = time.time(), "cache"
    table = InMemoryCacheTable(InMemoryItem({"uid": uid, "pointer": pointer_to(contents, now)}))
    put(table, contents, uid, now)
    return table


def put(table: CacheTable, contents: Contents, uid: str, now: float) -> None:
    from berth.nodecache.feed.head import PublishedVersion
    from berth.nodecache.feed.table import LogItem
    from berth.scheduling.snapshot.parts import SnapshotPart

    table.put_chunks(SNAPSHOT_ID, contents.items, now + 3600, time.sleep)
    for version, data in enumerate(contents.log, SNAPSHOT_VERSION + 1):
        item = LogItem(SnapshotPart.PODS, version, EPOCH, PublishedVersion(version - 1, EPOCH), data)
        table.put_log(uid, item, str(version), now + 3600)


def pointer_to(contents: Contents, now: float) -> Pointer:
    """Return the pointer to a snapshot `SNAPSHOT_ID` published now, and to the log."""
    from berth.nodecache.feed.head import (
        Observation,
        Pointer,
        Position,
        PublishedVersion,
        SnapshotPointer,
        in_every_part,
    )
    from berth.scheduling.snapshot.parts import SnapshotPart

    counts = {SnapshotPart(part): len(items) for part, items in contents.chunks.items()}
    newest = in_every_part(PublishedVersion(SNAPSHOT_VERSION, EPOCH))
    snapshot = SnapshotPointer(SNAPSHOT_ID, SNAPSHOT_VERSION, newest, counts, sum(map(len, contents.items)), now)
    latest = PublishedVersion(SNAPSHOT_VERSION + len(contents.log), EPOCH)
    log_bytes = sum(map(len, contents.log))
    observation = Observation("cluster", {"pods": Position("1", now, now)})
    newest = {**newest, SnapshotPart.PODS: latest}
    return Pointer(*latest, newest, snapshot, SNAPSHOT_VERSION, log_bytes, observation, now, "bench")


def _calls(app: Any, events: Iterator[bytes]) -> Measured:
    """Handle each event several times in turn: new pod shapes at first, known ones afterwards. Only one event is held
    at a time, as in a function."""
    taken = [timed(partial(_called, app, event))[0] for event in islice(events, CALLS)]
    return {"call": median(taken) * 1000, "slowest": max(taken) * 1000, "memory": peak_megabytes()}


def _called(app: Any, event: bytes) -> bytes:
    return orjson.dumps(app.handler(orjson.loads(event), None))


if __name__ == "__main__":
    _, name, path, chosen = sys.argv
    print(json.dumps(measure(name, pickle.loads(Path(path).read_bytes()), chosen)))
