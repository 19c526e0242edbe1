"""Cold and warm calls with the share of a processor that Lambda gives: MemorySize / 1,769 MB of one.

Each function runs in a process of its own inside a control group (cgroup v1 or v2) with that quota, so the times are
wall time, as a caller waits. Imports are included in a cold call. The table is in memory and the pages of the cluster's
list are files: what DynamoDB, the gateway and an API server take is no part of it. Needs the right to make a control
group: `make bench-lambda` as root, or in a privileged container. Other load on the machine makes times longer, never
shorter, so the least of some runs is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

import orjson

from tests.bench.functions import ENVIRONMENT, PROJECT
from tests.bench.process import peak_megabytes

VCPU_MEGABYTES = 1769
PERIOD_MICROSECONDS = 20_000
PAGE = 500
CALLS, SHAPES = 60, 20
CONTROL_GROUPS = Path("/sys/fs/cgroup")

CLUSTERS = (500, 2_000, 5_000)
FUNCTIONS: Mapping[str, tuple[int, ...]] = {
    "filter": (512, 1024, 1769),
    "bind": (512, 1024, 1769),
    "watcher": (512, 1024, 1769),
}
"""The sizes of memory to try, in MB."""

T = TypeVar("T")
Measured = dict[str, float]


@dataclass(frozen=True)
class Row:
    """The least of all runs. Seconds, warm calls in milliseconds, memory in MB."""

    function: str
    nodes: int
    megabytes: int
    measured: Measured

    def __str__(self) -> str:
        cells = [f"`{self.function}`", f"{self.nodes:,}", f"{self.megabytes:,}"]
        cells += [f"{self.measured.get(name, 0):.{digits}f}" for name, digits in COLUMNS.items()]
        return f"| {' | '.join(cells)} |"


COLUMNS = {"imports": 1, "cold": 1, "warm": 1, "memory": 0}


@contextmanager
def quota(megabytes: int) -> Iterator[Path]:
    """A control group with the processor share of a function of this size; a process joins by its `cgroup.procs`."""
    microseconds = PERIOD_MICROSECONDS * megabytes // VCPU_MEGABYTES
    is_unified = (CONTROL_GROUPS / "cgroup.controllers").exists()
    group = (CONTROL_GROUPS if is_unified else CONTROL_GROUPS / "cpu") / f"berth-bench-{os.getpid()}-{megabytes}"
    group.mkdir()
    try:
        if is_unified:
            (group / "cpu.max").write_text(f"{microseconds} {PERIOD_MICROSECONDS}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
            (group / "cpu.cfs_quota_us").write_text(str(microseconds))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def rows(functions: Mapping[str, tuple[int, ...]], clusters: tuple[int, ...], runs: int) -> Iterator[Row]:
    """One row for each function, cluster and size."""
    for nodes in clusters:
        with TemporaryDirectory() as directory:
            _write_cluster(Path(directory), nodes)
            for function, sizes in functions.items():
                for megabytes in sizes if function != "bind" or nodes == clusters[0] else ():
                    found = [_run(function, Path(directory), megabytes) for _ in range(runs)]
                    yield Row(function, nodes, megabytes, {name: min(run[name] for run in found) for name in found[0]})


def _write_cluster(directory: Path, nodes: int) -> None:
    """The snapshot's chunks, the names of the nodes, and the pages of the API server's lists."""
    from berth.cluster.field_projection import RequiredFields, projections
    from berth.cluster.watch.resources import NODES, PODS
    from berth.nodecache.feed.changes import Change, pack
    from berth.nodecache.feed.observed_state import key_of
    from tests.bench import large_cluster

    by_resource = projections(RequiredFields())
    changes = []
    for resource, objects in ((NODES, large_cluster.nodes(nodes)), (PODS, large_cluster.pods(nodes))):
        listed = list(objects)
        for start in range(0, len(listed), PAGE):
            page = directory / f"{resource.name}-{start:07}"
            page.write_bytes(orjson.dumps({"items": listed[start : start + PAGE]}))
        # Decoded again, as from an API server: otherwise the pods would share objects.
        kept = (by_resource[resource](orjson.loads(orjson.dumps(found))) for found in listed)
        changes += [Change(resource.name, key_of(found) or "", found) for found in kept]
    (directory / "chunks").write_bytes(pickle.dumps(pack(changes).items))
    (directory / "names").write_bytes(orjson.dumps([large_cluster.node_name(index) for index in range(nodes)]))


def _run(function: str, directory: Path, megabytes: int) -> Measured:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")} | ENVIRONMENT
    environment |= {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(megabytes), "BERTH_CONFIGURATION": '{"profile": "full"}'}
    with quota(megabytes) as members:
        run = subprocess.run(
            [sys.executable, "-m", "tests.bench.lambda_share", "--measure", function, directory, "--join", members],
            check=True,
            stdout=subprocess.PIPE,
            cwd=PROJECT,
            env=environment,
        )
    found: Measured = json.loads(run.stdout)
    return found


def _elapsed(call: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def measure(function: str, directory: Path) -> Measured:
    """Measure one function in this new process."""
    chunks: list[bytes] = pickle.loads((directory / "chunks").read_bytes())
    return {"filter": _filter, "bind": _bind, "watcher": _watcher}[function](directory, chunks)


def _filter(directory: Path, chunks: list[bytes]) -> Measured:
    from tests.bench.functions import _called, _loaded

    imports, app = _elapsed(lambda: _loaded("filter", chunks))
    from tests.bench import cluster
    from tests.bench.calls import event

    names = orjson.loads((directory / "names").read_bytes())
    events = [event("filter", cluster.pod_manifest(index), names) for index in range(SHAPES)]
    first, _ = _elapsed(lambda: _called(app, events[0]))
    taken = [_elapsed(partial(_called, app, events[index % SHAPES]))[0] for index in range(CALLS)]
    return {"imports": imports, "cold": imports + first, "warm": median(taken) * 1000, "memory": peak_megabytes()}


def _bind(directory: Path, chunks: list[bytes]) -> Measured:
    """Without a cluster: the client is created, and the connection is refused."""
    from tests.bench.functions import _called, _loaded
    from tests.builders.kubeconfigs import kubeconfig_for

    os.environ["BERTH_KUBECONFIG"] = str(kubeconfig_for("https://127.0.0.1:9", directory))
    imports, app = _elapsed(lambda: _loaded("bind", chunks))
    body = {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid", "Node": "n10"}
    event = orjson.dumps({"body": orjson.dumps(body).decode()})
    first, _ = _elapsed(lambda: _called(app, event))
    taken = [_elapsed(partial(_called, app, event))[0] for _ in range(CALLS)]
    return {"imports": imports, "cold": imports + first, "warm": median(taken) * 1000, "memory": peak_megabytes()}


def _watcher(directory: Path, chunks: list[bytes]) -> Measured:
    """The first publication: decode the pages, keep what the policy needs, pack the snapshot."""
    from tests.bench.functions import _loaded

    os.environ["BERTH_KUBECONFIG"] = "/absent"
    imports, _ = _elapsed(lambda: _loaded("watcher", []))

    from berth.cluster.field_projection import RequiredFields, projections
    from berth.cluster.watch.resources import NODES, PODS
    from berth.nodecache.feed.changes import Change, pack
    from berth.nodecache.feed.observed_state import key_of

    del chunks[:]

    def publish() -> int:
        by_resource = projections(RequiredFields())
        changes = []
        for resource in (NODES, PODS):
            for page in sorted(directory.glob(f"{resource.name}-*")):
                kept = (by_resource[resource](found) for found in orjson.loads(page.read_bytes())["items"])
                changes += [Change(resource.name, key_of(found) or "", found) for found in kept]
        return len(pack(changes).items)

    published, _ = _elapsed(publish)
    return {"imports": imports, "cold": imports + published, "memory": peak_megabytes()}


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.lambda_share", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--measure", nargs=2, metavar=("FUNCTION", "DIRECTORY"), help=argparse.SUPPRESS)
    parser.add_argument("--join", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        figures_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
        arguments.join.write_text(str(os.getpid()))
        print(json.dumps(measure(arguments.measure[0], Path(arguments.measure[1]))), file=figures_to)
        return
    print(f"| function | nodes | MemorySize | {' | '.join(COLUMNS)} |")
    print("|---" * (3 + len(COLUMNS)) + "|")
    for row in rows(FUNCTIONS, tuple(arguments.nodes), arguments.runs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
