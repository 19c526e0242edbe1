"""Cold and warm calls with the share of a processor that Lambda gives, MemorySize / 1,769 MB of one, and with that
memory.

Each function runs in a process of its own inside control groups (cgroup v1 or v2) with that quota and that limit, so
the times are wall time, as a caller waits, and a function that needs more memory is killed. Imports are included in a
cold call. The table is in the function's memory and the cluster's lists come from this process: what DynamoDB, the
gateway and an API server take is no part of it. Needs the right to make a control group: `make bench-lambda` as root,
or in a privileged container. Other load on the machine makes times longer, never shorter, so the least of some runs is
shown.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
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
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

import orjson

from tests.bench.functions import ENVIRONMENT, PROJECT, Contents, write_contents
from tests.bench.list_server import serve
from tests.bench.process import peak_megabytes

if TYPE_CHECKING:
    from berth.nodecache.feed.head import Pointer
    from berth.nodecache.feed.table import CacheTable

VCPU_MEGABYTES = 1769
PERIOD_MICROSECONDS = 20_000
PAGE = 500
CALLS, SHAPES = 60, 20
CONTROL_GROUPS = Path("/sys/fs/cgroup")

CLUSTERS = (500, 1_000, 2_000, 5_000)
FUNCTIONS: Mapping[str, tuple[int, ...]] = {
    "filter": (512, 1024, 1769),
    "bind": (512, 1024, 1769),
    "watcher": (256, 512, 1024, 1769),
}
"""The sizes of memory to try, in MB."""

T = TypeVar("T")
Measured = dict[str, float]


@dataclass(frozen=True)
class Row:
    """The least of all runs. Seconds, warm calls in milliseconds, memory in MB. Empty: it needs more memory."""

    function: str
    nodes: int
    megabytes: int
    measured: Measured

    def __str__(self) -> str:
        cells = [f"`{self.function}`", f"{self.nodes:,}", f"{self.megabytes:,}"]
        if self.measured:
            cells += [f"{self.measured.get(name, 0):.{digits}f}" for name, digits in COLUMNS.items()]
        else:
            cells += ["killed", *[""] * (len(COLUMNS) - 1)]
        return f"| {' | '.join(cells)} |"


COLUMNS = {"imports": 1, "cold": 1, "warm": 1, "memory": 0}


@contextmanager
def limits(megabytes: int) -> Iterator[list[Path]]:
    """Control groups with the processor share and the memory of a function of this size. A process joins by these."""
    microseconds = PERIOD_MICROSECONDS * megabytes // VCPU_MEGABYTES
    name, size = f"berth-bench-{os.getpid()}-{megabytes}", str(megabytes << 20)
    if (CONTROL_GROUPS / "cgroup.controllers").exists():
        settings = {CONTROL_GROUPS / name: {"cpu.max": f"{microseconds} {PERIOD_MICROSECONDS}", "memory.max": size}}
    else:
        settings = {
            CONTROL_GROUPS / "cpu" / name: {
                "cpu.cfs_period_us": str(PERIOD_MICROSECONDS),
                "cpu.cfs_quota_us": str(microseconds),
            },
            CONTROL_GROUPS / "memory" / name: {"memory.limit_in_bytes": size},
        }
    for group, files in settings.items():
        group.mkdir()
        for file, value in files.items():
            (group / file).write_text(value)
    try:
        yield [group / "cgroup.procs" for group in settings]
    finally:
        for group in settings:
            group.rmdir()


def rows(functions: Mapping[str, tuple[int, ...]], clusters: tuple[int, ...], runs: int) -> Iterator[Row]:
    """One row for each function, cluster and size."""
    for nodes in clusters:
        with TemporaryDirectory() as directory, serve(Path(directory)) as kubeconfig:
            os.environ["KUBECONFIG"] = str(kubeconfig)
            _write_cluster(Path(directory), nodes)
            for function, sizes in functions.items():
                for megabytes in sizes if function != "bind" or nodes == clusters[0] else ():
                    found = [_run(function, Path(directory), megabytes) for _ in range(runs)]
                    names = found[0] if all(found) else ()
                    yield Row(function, nodes, megabytes, {name: min(run[name] for run in found) for name in names})


def _write_cluster(directory: Path, nodes: int) -> None:
    """The snapshot's chunks, the names of the nodes, and the pages of the API server's lists."""
    from berth.cluster.field_projection import RequiredFields, projections
    from berth.cluster.watch.resources import NODES, PODS
    from berth.nodecache.feed.changes import Change
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
    write_contents(directory / "chunks", changes)
    (directory / "names").write_bytes(orjson.dumps([large_cluster.node_name(index) for index in range(nodes)]))


def _run(function: str, directory: Path, megabytes: int) -> Measured:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BERTH_")} | ENVIRONMENT
    environment |= {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(megabytes), "BERTH_CONFIGURATION": '{"profile": "full"}'}
    with limits(megabytes) as members:
        run = subprocess.run(
            [sys.executable, "-m", "tests.bench.lambda_share", "--measure", function, directory, "--join", *members],
            check=False,
            stdout=subprocess.PIPE,
            cwd=PROJECT,
            env=environment,
        )
    if run.returncode == -signal.SIGKILL:
        return {}
    run.check_returncode()
    found: Measured = json.loads(run.stdout)
    return found


def _elapsed(call: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def measure(function: str, directory: Path) -> Measured:
    """Measure one function in this new process."""
    contents: Contents = pickle.loads((directory / "chunks").read_bytes())
    return {"filter": _filter, "bind": _bind, "watcher": _watcher}[function](directory, contents)


def _filter(directory: Path, contents: Contents) -> Measured:
    from tests.bench.functions import _called, _loaded

    imports, app = _elapsed(lambda: _loaded("filter", contents))
    from tests.bench import cluster
    from tests.bench.calls import event

    names = orjson.loads((directory / "names").read_bytes())
    events = [event("filter", cluster.pod_manifest(index), names) for index in range(SHAPES)]
    first, _ = _elapsed(lambda: _called(app, events[0]))
    taken = [_elapsed(partial(_called, app, events[index % SHAPES]))[0] for index in range(CALLS)]
    return {"imports": imports, "cold": imports + first, "warm": median(taken) * 1000, "memory": peak_megabytes()}


def _bind(directory: Path, contents: Contents) -> Measured:
    """Without a cluster: the client is created, and the connection is refused."""
    from tests.bench.functions import _called, _loaded
    from tests.builders.kubeconfigs import kubeconfig_for

    os.environ["BERTH_KUBECONFIG"] = str(kubeconfig_for("https://127.0.0.1:9", directory))
    imports, app = _elapsed(lambda: _loaded("bind", contents))
    body = {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid", "Node": "n10"}
    event = orjson.dumps({"body": orjson.dumps(body).decode()})
    first, _ = _elapsed(lambda: _called(app, event))
    taken = [_elapsed(partial(_called, app, event))[0] for _ in range(CALLS)]
    return {"imports": imports, "cold": imports + first, "warm": median(taken) * 1000, "memory": peak_megabytes()}


def _watcher(directory: Path, contents: Contents) -> Measured:
    """The first publication, and a second run that goes on from its snapshot: the handler, its lists over HTTP."""
    from tests.bench.functions import _loaded

    contents.chunks.clear()
    os.environ["BERTH_KUBECONFIG"] = os.environ["KUBECONFIG"]
    imports, _ = _elapsed(lambda: _loaded("watcher", Contents({}, [])))

    from berth.runtime.tables import Tables, tables_opened_by
    from berth_cli.embedded_store.cache_table import InMemoryCacheTable
    from berth_cli.embedded_store.configuration_store import InMemoryConfigurationStore
    from berth_cli.embedded_store.lease_lock import InMemoryItem, InMemoryLeaseLock
    from berth_cli.serve.watcher_thread import LocalLambdaContext

    item = InMemoryItem()
    lease, standby = (InMemoryLeaseLock(each, lambda: str(time.monotonic_ns())) for each in (item, InMemoryItem()))
    opened = Tables(InMemoryCacheTable(item), InMemoryConfigurationStore(item), lease, standby)
    with tables_opened_by(lambda *_: opened):
        app = _loaded("watcher", Contents({}, []))

    def run() -> None:
        """Until it has published."""
        context, before = LocalLambdaContext(600), _pointer(opened.cache)

        def stop() -> None:
            while _pointer(opened.cache) == before:
                time.sleep(0.05)
            context.stop()

        Thread(target=stop, daemon=True).start()
        ended = app.handler({}, context)
        assert ended["outcome"] == "handed-over", ended

    published, _ = _elapsed(run)
    again, _ = _elapsed(run)
    return {"imports": imports, "cold": imports + published, "warm": again * 1000, "memory": peak_megabytes()}


def _pointer(table: CacheTable) -> Pointer | None:
    head = table.head()
    return None if head is None else head.pointer


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.lambda_share", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--measure", nargs=2, metavar=("FUNCTION", "DIRECTORY"), help=argparse.SUPPRESS)
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--sizes", type=int, nargs="+", help="of memory, in MB; default: all of the function")
    parser.add_argument("--join", type=Path, nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        figures_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
        for members in arguments.join:
            members.write_text(str(os.getpid()))
        print(json.dumps(measure(arguments.measure[0], Path(arguments.measure[1]))), file=figures_to)
        return
    print(f"| function | nodes | MemorySize | {' | '.join(COLUMNS)} |")
    print("|---" * (3 + len(COLUMNS)) + "|")
    functions = {name: tuple(arguments.sizes or FUNCTIONS[name]) for name in arguments.functions}
    for row in rows(functions, tuple(arguments.nodes), arguments.runs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
