"""A large cluster in the cache: what it is to load and to hold it, and to bring it on by what changed.

Loaded in a process of its own, with all that a verb's function imports: 5,000 nodes, 150,000 pods. Times are of the
processor, so that a busy machine shows less in them; the best of a few runs. Read units are DynamoDB's: half a one for
4 KB of a chunk (eventually consistent), a whole one for 4 KB of the log.
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
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NAMESPACES, NODES, POD_DISRUPTION_BUDGETS, PODS, Resource
from berth.nodecache.feed.changes import Change, Key, Object, pack, unpack
from berth.nodecache.feed.observed_state import key_of
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.scheduling.snapshot.parts import SnapshotPart
from tests.bench import large_cluster
from tests.bench.figures import Family, Figure
from tests.bench.process import peak_megabytes, timed

RUNS = 3
READ_UNIT_BYTES = 4096
TARGET_SECONDS, TARGET_MEGABYTES, TARGET_POD_BYTES = 2.0, 512, 1024
TARGET_NODE_UNITS, TARGET_NODES_MEGABYTES = 80, 90

CHANGED_PODS = 100
CHANGED_NODES = large_cluster.NODES // 100


def families() -> Iterator[Family]:
    """One family."""
    yield Family("cache.load", figures)


def figures() -> Iterator[Figure]:
    """Figures of the cache as the watcher writes it."""
    started = time.process_time()
    changes = list(kept())
    yield Figure("cache.kept.pod", _mean_pod(changes), "bytes", TARGET_POD_BYTES)
    packed = pack(changes)
    chunks = packed.items
    yield Figure("cache.chunks", len(chunks), "items")
    yield Figure("cache.chunks.bytes", sum(map(len, chunks)) / 1e6, "MB")
    yield Figure("cache.chunks.read_units", sum(_units(chunk) for chunk in chunks) / 2, "units")
    of_nodes = packed.by_part[SnapshotPart.NODES]
    yield Figure("cache.chunks.nodes.read_units", sum(map(_units, of_nodes)) / 2, "units", TARGET_NODE_UNITS)
    del changes
    with TemporaryDirectory() as directory:
        path = Path(directory) / "chunks"
        path.write_bytes(pickle.dumps(chunks))
        runs = [_in_a_process_of_its_own("load", path) for _ in range(RUNS)]
        watcher = _in_a_process_of_its_own("objects", path)
        path.write_bytes(pickle.dumps(of_nodes))
        without_pods = [_in_a_process_of_its_own("nodes", path) for _ in range(RUNS)]
    yield Figure("cache.cold_load.floor", min(run["floor"] for run in runs), "s")
    yield Figure("cache.cold_load", min(run["load"] for run in runs), "s", TARGET_SECONDS)
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


def kept() -> Iterator[Change]:
    """All objects of the cluster as the watcher keeps them."""
    by_resource = projections(RequiredFields())

    def of(resource: Resource, manifests: Iterator[large_cluster.Manifest]) -> Iterator[Change]:
        trim = by_resource[resource]
        for manifest in manifests:
            found = trim(manifest)
            yield Change(resource.name, key_of(found) or "", found)

    yield from of(NODES, large_cluster.nodes())
    yield from of(NAMESPACES, large_cluster.namespaces())
    yield from of(POD_DISRUPTION_BUDGETS, large_cluster.disruption_budgets())
    # Decoded again, as from an API server: otherwise the pods would share objects.
    yield from of(PODS, (orjson.loads(orjson.dumps(pod)) for pod in large_cluster.pods()))


def _mean_pod(changes: Sequence[Change]) -> float:
    sizes = [len(orjson.dumps(change.object)) for change in changes if change.resource == PODS.name]
    return sum(sizes) / len(sizes)


def _units(item: bytes) -> int:
    return math.ceil(len(item) / READ_UNIT_BYTES)


def _in_a_process_of_its_own(what: str, chunks: Path) -> dict[str, float]:
    run = subprocess.run([sys.executable, "-m", __name__, what, chunks], check=True, capture_output=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def nodes(chunks: list[bytes]) -> dict[str, float]:
    """Load the nodes of a snapshot, as the function of a verb does whose policy reads nothing else."""
    _, measured = _loaded(chunks, "label-priority")
    return measured


def _loaded(chunks: list[bytes], profile: str) -> tuple[CachedCluster, dict[str, float]]:
    import boto3

    from berth.scheduling.configuration.document import BerthConfiguration

    boto3.client("dynamodb", region_name="eu-central-1")
    BerthConfiguration(profile=profile).policy()
    view, measured = SnapshotView(), {"imports": peak_megabytes()}
    measured["load"], state = timed(lambda: view.applied(view.empty(), unpack(chunks)))
    measured["memory"] = peak_megabytes()
    return state, measured


def load(chunks: list[bytes]) -> dict[str, float]:
    """Load the chunks of a snapshot and later changes, as the function of a verb does."""
    view = SnapshotView()
    state, measured = _loaded(chunks, "full")
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


def objects(chunks: list[bytes]) -> dict[str, float]:
    """Load the snapshot of the previous watcher, as a new watcher does."""
    found: dict[Key, Object] = {(change.resource, change.key): change.object or {} for change in unpack(chunks)}
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
