"""A large cluster in the cache: what it is to load and to hold it, and to bring it on by what changed.

Loaded in a process of its own, beside a client of DynamoDB as a function has it: a snapshot of 5,000 nodes and 150,000
pods, and a log of 5,000 later changes of pods. Times are of the processor, so that a busy machine shows less in them;
the best of a few runs. Read units are DynamoDB's: half a one for 4 KB of a chunk (eventually consistent), a whole one
for 4 KB of a log.
"""

from __future__ import annotations

import json
import math
import pickle
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS, Resource
from berth.nodecache.feed.changes import Change, Key, Object, pack, unpack
from berth.nodecache.feed.head import SnapshotPointer
from berth.nodecache.feed.observed_state import ObjectsView, key_of
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.table import LogItem
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_ONLY, Parts, SnapshotPart
from tests.bench import large_cluster
from tests.bench.figures import Family, Figure
from tests.bench.functions import LOGGED_PODS, Contents, table_of, write_contents
from tests.bench.process import peak_megabytes, timed
from tests.capacity.sizes import LOG_ITEM_KEYS
from tests.fakes.cache_tables import CountingCacheTable

RUNS = 3
READ_UNIT_BYTES = 4096
TARGET_MEGABYTES, TARGET_POD_BYTES = 512, 1024
TARGET_NODE_UNITS, TARGET_NODES_MEGABYTES = 80, 90

CHANGED_PODS = 100
CHANGED_NODES = large_cluster.NODES // 100


def families() -> Iterator[Family]:
    """One family."""
    yield Family("cache", figures)


def figures() -> Iterator[Figure]:
    """Figures of the cache as the watcher writes it."""
    started = time.process_time()
    changes = list(kept())
    yield Figure("cache.kept.pod", _mean_pod(changes), "bytes", TARGET_POD_BYTES)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "contents"
        contents = write_contents(path, changes, LOGGED_PODS)
        del changes
        yield Figure("cache.chunks", len(contents.items), "items")
        yield Figure("cache.chunks.bytes", sum(map(len, contents.items)) / 1e6, "MB")
        yield Figure("cache.log.bytes", sum(map(len, contents.log)) / 1e6, "MB")
        yield Figure("cache.cold_load.read_units", read_units(contents, ALL_PARTS), "units")
        yield Figure("cache.cold_load.nodes.read_units", read_units(contents, NODES_ONLY), "units", TARGET_NODE_UNITS)
        runs = [_in_a_process_of_its_own("load", path) for _ in range(RUNS)]
        watcher = _in_a_process_of_its_own("objects", path)
        # Without what no request asks for: the table is in the memory of the process that is measured.
        nodes_alone = SnapshotPart.NODES.value
        path.write_bytes(pickle.dumps(contents._replace(chunks={nodes_alone: contents.chunks[nodes_alone]})))
        without_pods = [_in_a_process_of_its_own("nodes", path) for _ in range(RUNS)]
    yield Figure("cache.cold_load.floor", min(run["floor"] for run in runs), "s")
    yield Figure("cache.cold_load", min(run["load"] for run in runs), "s")
    yield Figure("cache.cold_load.memory", min(run["memory"] for run in runs), "MB", TARGET_MEGABYTES)
    yield Figure("cache.cold_load.nodes", min(run["load"] for run in without_pods) * 1000, "ms")
    memory = min(run["memory"] for run in without_pods)
    yield Figure("cache.cold_load.nodes.memory", memory, "MB", TARGET_NODES_MEGABYTES)
    yield Figure("cache.imports.memory", min(run["imports"] for run in runs), "MB")
    yield Figure("cache.watcher.memory", watcher["memory"], "MB")
    for name in ("pods", "nodes"):
        yield Figure(f"cache.delta.{name}", min(run[name] for run in runs) * 1000, "ms")
        yield Figure(f"cache.delta.{name}.read_units", runs[0][f"{name}.units"], "units")
    yield Figure("cache.bench", time.process_time() - started, "s")


def kept(nodes: int = large_cluster.NODES) -> Iterator[Change]:
    """All objects of the cluster as the watcher keeps them."""
    by_resource = projections(RequiredFields())

    def of(resource: Resource, manifests: Iterator[large_cluster.Manifest]) -> Iterator[Change]:
        trim = by_resource[resource]
        for manifest in manifests:
            found = trim(manifest)
            yield Change(resource.name, key_of(found) or "", found)

    yield from of(NODES, large_cluster.nodes(nodes))
    yield from of(NAMESPACES, large_cluster.namespaces())
    yield from of(POD_DISRUPTION_BUDGETS, large_cluster.disruption_budgets())
    # Decoded again, as from an API server: otherwise the pods would share objects.
    yield from of(PODS, (orjson.loads(orjson.dumps(pod)) for pod in large_cluster.pods(nodes)))


def _mean_pod(changes: Sequence[Change]) -> float:
    sizes = [len(orjson.dumps(change.object)) for change in changes if change.resource == PODS.name]
    return sum(sizes) / len(sizes)


def _units(item: bytes) -> int:
    return math.ceil(len(item) / READ_UNIT_BYTES)


class _MeteredTable(CountingCacheTable):
    """Counts the units of reads."""

    units = 0.0

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        items = super().log(uid, after, through)
        for part in through:
            size = sum(len(item.data) + LOG_ITEM_KEYS for item in items if item.part is part)
            self.units += max(1, math.ceil(size / READ_UNIT_BYTES))
        return items

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        found = super().chunks(snapshot, parts)
        self.units += sum(_units(chunk) for chunk in found if chunk is not None) / 2
        return found


def read_units(contents: Contents, parts: Parts) -> float:
    """Of a cold start that needs these parts, the head included."""
    table = _MeteredTable(table_of(contents))
    NodeCacheReader(table, ObjectsView(), time.sleep).at(table.head(), parts=parts)
    return 1 + table.units


def _in_a_process_of_its_own(what: str, contents: Path) -> dict[str, float]:
    run = subprocess.run([sys.executable, "-m", __name__, what, contents], check=True, capture_output=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def nodes(contents: Contents) -> dict[str, float]:
    """Load the nodes, as a verb does whose policy reads nothing else."""
    _, measured = _loaded(contents, "label-priority", NODES_ONLY)
    return measured


def _loaded(contents: Contents, profile: str, parts: Parts) -> tuple[CachedCluster, dict[str, float]]:
    from botocore.config import Config

    from berth.runtime.aws_clients import aws_client
    from berth.scheduling.configuration.document import BerthConfiguration

    aws_client("dynamodb", Config(), region="eu-central-1")
    BerthConfiguration(profile=profile).policy()
    table, measured = table_of(contents), {"imports": peak_megabytes()}
    reader = NodeCacheReader(table, SnapshotView(), time.sleep)
    measured["load"], state = timed(lambda: reader.at(table.head(), parts=parts))
    measured["memory"] = peak_megabytes()
    return state, measured


def load(contents: Contents) -> dict[str, float]:
    """Load everything and later changes, as a verb does."""
    view, chunks = SnapshotView(), contents.items
    state, measured = _loaded(contents, "full", ALL_PARTS)
    draw = random.Random("deltas")
    for name, batches in (("pods", _pods_come_and_go(chunks, draw)), ("nodes", _nodes_are_relabelled(chunks, draw))):
        times = []
        for batch in batches:
            [item] = pack(batch).items
            seconds, state = timed(partial(_applied, view, state, item))
            times.append(seconds)
            measured[f"{name}.units"] = _units(item)
        measured[name] = sorted(times)[len(times) // 2]
    measured["floor"], _ = timed(lambda: [orjson.loads(zlib.decompress(chunk)) is None for chunk in chunks])
    return measured


def objects(contents: Contents) -> dict[str, float]:
    """Load the snapshot of the previous watcher, as a new watcher does."""
    items = contents.items
    found: dict[Key, Object] = {(change.resource, change.key): change.object or {} for change in unpack(items)}
    return {"memory": peak_megabytes(), "objects": len(found)}


def _applied(view: SnapshotView, state: CachedCluster, item: bytes) -> CachedCluster:
    return view.applied(state, unpack([item]))


def _pods_come_and_go(chunks: list[bytes], draw: random.Random) -> Iterator[list[Change]]:
    """Half of the pods are deleted, the other half are recreated with the same name on the same node."""
    known = _sample(chunks, PODS)
    for number in range(20):
        batch = []
        for index, (name, key, found) in enumerate(draw.sample(known, CHANGED_PODS)):
            anew = {**found, "metadata": {**found["metadata"], "uid": f"{number}-{index}"}}  # type: ignore[dict-item]
            batch.append(Change(name, key, anew if index % 2 else None))
        yield batch


def _nodes_are_relabelled(chunks: list[bytes], draw: random.Random) -> Iterator[list[Change]]:
    known = _sample(chunks, NODES)
    for number in range(20):
        batch = []
        for name, key, found in draw.sample(known, CHANGED_NODES):
            metadata = found["metadata"]
            labels = {**metadata["labels"], "round": str(number)}  # type: ignore[index]
            batch.append(Change(name, key, {**found, "metadata": {**metadata, "labels": labels}}))  # type: ignore[dict-item]
        yield batch


def _sample(chunks: list[bytes], resource: Resource) -> list[tuple[str, str, Object]]:
    """Every hundredth pod and every second node of the cluster."""
    share = 100 if resource is PODS else 2
    found = (change for change in unpack(chunks) if change.resource == resource.name and change.object is not None)
    return [
        (change.resource, change.key, change.object or {}) for index, change in enumerate(found) if index % share == 0
    ]


if __name__ == "__main__":
    _, what, path = sys.argv
    print(json.dumps({"load": load, "nodes": nodes, "objects": objects}[what](pickle.loads(Path(path).read_bytes()))))
