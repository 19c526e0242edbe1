"""The parts of a cold load with the profile `full`: 5,000 nodes with 150,000 pods, and a log of 5,000 changes of pods.

Each part is without those inside of it, so the shares sum to 100 %. Times are of the processor, of the fastest of a few
loads, each in a process of its own.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from berth.nodecache import snapshot_view
from berth.nodecache.decoded import DecodedObjects
from berth.nodecache.feed import changes
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.bench.cold_load import RUNS, kept
from tests.bench.figures import Family, Figure
from tests.bench.functions import LOGGED_PODS, Contents, table_of, write_contents
from tests.bench.parts import Parts, Stopwatch

PARTS: Parts = (
    (changes, "_decompressed", "decompress"),
    (changes, "_decoded", "json"),
    (changes, "_changes", "rows"),
    (DecodedObjects, "__init__", "objects"),
    (Snapshot, "of", "index"),
    (snapshot_view, "_changed", "log"),
    (NodeCacheReader, "at", "rest"),
)


def families() -> Iterator[Family]:
    """One family."""
    yield Family("load.full", figures)


def figures() -> Iterator[Figure]:
    """The milliseconds of each part, and its share."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "contents"
        write_contents(path, list(kept()), LOGGED_PODS)
        runs = [_in_a_process_of_its_own(path) for _ in range(RUNS)]
    fastest = min(runs, key=lambda run: sum(run.values()))
    together = sum(fastest.values())
    for part, seconds in fastest.items():
        yield Figure(f"load.full.{part}", seconds * 1000, "ms")
        yield Figure(f"load.full.{part}.share", seconds / together * 100, "%")
    yield Figure("load.full", together * 1000, "ms")


def _in_a_process_of_its_own(contents: Path) -> dict[str, float]:
    run = subprocess.run([sys.executable, "-m", __name__, contents], check=True, capture_output=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def measured(contents: Contents) -> dict[str, float]:
    """The seconds of each part of one load."""
    table, watch = table_of(contents), Stopwatch(PARTS)
    reader = NodeCacheReader(table, SnapshotView(), time.sleep)
    with watch.running():
        reader.at(table.head())
    return {part: watch.seconds[part] for _, _, part in PARTS}


if __name__ == "__main__":
    print(json.dumps(measured(pickle.loads(Path(sys.argv[1]).read_bytes()))))
