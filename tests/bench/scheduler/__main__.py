"""`python -m tests.bench.scheduler [--cases NAME,…] [--nodes N,…] [--runs N] [--pods N] [--small] [--from FILE]
[--write]`."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tests.bench.scheduler import documents
from tests.bench.scheduler.cases import CASES, SMALL, Case, selected
from tests.bench.scheduler.documents import RESULTS
from tests.bench.scheduler.extenders import BINARY as EXTENDER
from tests.bench.scheduler.results import Results, Run, machine, read
from tests.e2e.kubernetes.control_plane import BINARY as CONTROL_PLANE

NODES, RUNS, PODS = (500, 1000, 5000), 3, 500
SMALL_NODES, SMALL_RUNS, SMALL_PODS = (500,), 1, 200
OUTPUT = Path(__file__).parents[3] / ".build" / "bench-scheduler"
INTERRUPTED = 130
CONTINUE = f"to measure what is missing, and keep the rest: --from {OUTPUT / 'results.json'}"

T = TypeVar("T")


def main() -> int:
    """Exit status 1 where a run failed or a node got more than it has, 130 after Ctrl-C. The table is on standard
    output, progress on standard error."""
    chosen = _arguments()
    if chosen.list:
        print(*(case.name for case in CASES), sep="\n")
        return 0
    for missing, target in ((CONTROL_PLANE, "make e2e"), (EXTENDER, "make bench-scheduler")):
        if not missing.exists():
            print(f"{missing} is not there: {target}", file=sys.stderr)
            return 1
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _interrupt)
    results, failures = Results(machine(chosen.kubernetes), chosen.earlier.runs), list[str]()
    directory = Path(tempfile.mkdtemp(prefix="bench-scheduler-"))
    try:
        _measure(chosen, directory, results, failures)
    except KeyboardInterrupt:
        _progress("interrupted; all that was started has ended")
        _show(results)
        _progress(CONTINUE)
        shutil.rmtree(directory, ignore_errors=True)
        return INTERRUPTED
    _show(results)
    failures += [f"{run.case}: a node has more than its capacity" for run in results.runs if _overcommitted(run)]
    if failures:
        _progress("\n".join([*failures, f"logs: {directory}", CONTINUE]))
        return 1
    shutil.rmtree(directory, ignore_errors=True)
    if chosen.write:
        documents.publish(results)
    return 0


def _show(results: Results) -> None:
    if results.runs:
        documents.write(results, OUTPUT)
        print(documents.table(results))
        _progress(f"results: {OUTPUT}")


def _interrupt(*_: object) -> None:
    """Once: a second Ctrl-C must not cut short the end of what was started. A shell lets its background jobs ignore
    Ctrl-C, so this is set for both signals."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scheduler", description="Pods a second through a real kube-scheduler."
    )
    parser.add_argument("--cases", metavar="NAME,…", type=_cases, help="with * and ?; default: all, see --list")
    parser.add_argument("--nodes", metavar="N,…", type=_numbers, help="default: 500,1000,5000")
    parser.add_argument("--runs", type=int, help="of each case, in turn with the others; default: 3")
    parser.add_argument("--pods", type=int, help="of each run; default: 500")
    parser.add_argument("--small", action="store_true", help="four cases, 500 nodes, one run of 200 pods")
    parser.add_argument(
        "--from",
        dest="earlier",
        metavar="FILE",
        type=_earlier,
        default=Results(machine("unknown")),
        help="keep the runs of this results.json, and measure those that it does not have",
    )
    parser.add_argument("--write", action="store_true", help="write the figures into the documents")
    parser.add_argument("--kubernetes", default="unknown", help="the version, for the results")
    parser.add_argument("--list", action="store_true", help="print the names of the cases, and measure nothing")
    chosen = parser.parse_args()
    chosen.cases = chosen.cases or (selected(SMALL) if chosen.small else list(CASES))
    chosen.nodes = chosen.nodes or (SMALL_NODES if chosen.small else NODES)
    chosen.runs = chosen.runs or (SMALL_RUNS if chosen.small else RUNS)
    chosen.pods = chosen.pods or (SMALL_PODS if chosen.small else PODS)
    return chosen


def _cases(text: str) -> list[Case]:
    return _checked(lambda: selected(text.replace(",", " ").split()))


def _numbers(text: str) -> list[int]:
    return _checked(lambda: sorted({int(each) for each in text.replace(",", " ").split()}))


def _earlier(text: str) -> Results:
    return _checked(lambda: read(Path(text)))


def _checked(found: Callable[[], T]) -> T:
    try:
        return found()
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _measure(chosen: argparse.Namespace, directory: Path, results: Results, failures: list[str]) -> None:
    """All runs: every case once, then every case again. After one that fails the others go on."""
    # Only now: --help and --list need no adapters.
    from tests.bench.scheduler.measurement import Cluster

    planned = [
        (nodes, number, case)
        for nodes in chosen.nodes
        for number in range(1, chosen.runs + 1)
        for case in chosen.cases
        if not results.has(case, nodes, number, chosen.pods)
    ]
    known = Results(results.machine, [*results.runs, *read(RESULTS).runs])
    _progress(f"{len(planned)} runs{_estimate([known.seconds(case, nodes) for nodes, _, case in planned])}")
    if not planned:
        return
    began = time.monotonic()
    with Cluster(directory) as cluster:
        for done, (nodes, number, case) in enumerate(planned):
            if done == 0 or planned[done - 1][0] != nodes:
                _progress(f"{nodes} nodes")
                cluster.set_nodes(nodes)
            started = time.monotonic()
            try:
                run = cluster.run(case, nodes, number, chosen.pods)
                results.add(run)
                known.runs.insert(0, run)
                documents.write(results, OUTPUT)
                what = f"{run.rate:.1f} pods/s"
            except Exception as error:  # whatever failed, hours of other runs are not lost
                failures.append(f"{case.name} at {nodes} nodes: {error}")
                what = "failed"
            ended = time.monotonic()
            left = _estimate([known.seconds(other, size) for size, _, other in planned[done + 1 :]])
            _progress(
                f"{done + 1}/{len(planned)}  {nodes} nodes, run {number}, {case.name}: {what}"
                f"  ({ended - started:.0f} s{left})"
            )
    _progress(f"measured in {time.monotonic() - began:.0f} s")


def _estimate(seconds: Sequence[float | None]) -> str:
    """By runs that are known."""
    known = [each for each in seconds if each is not None]
    return f", about {sum(known) / 60:.0f} min" if known and len(known) == len(seconds) else ""


def _overcommitted(run: Run) -> bool:
    return run.counted is not None and run.counted.overcommitted > 0


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
