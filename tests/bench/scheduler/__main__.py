"""`python -m tests.bench.scheduler [--cases NAME,…] [--nodes N,…] [--runs N] [--pods N] [--percentage N]`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from tests.bench.scheduler.cases import CASES, SMALL, Extender, selected
from tests.bench.scheduler.extenders import PEER
from tests.bench.scheduler.measurement import Cluster, Run
from tests.e2e.kubernetes.control_plane import BINARY, KUBERNETES

OUTPUT = Path(__file__).parents[3] / ".build" / "bench-scheduler.json"


def main() -> int:
    """Print the table. Return the exit status: 1 if a run failed or a node was overcommitted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scheduler", description="Pods a second through a real kube-scheduler."
    )
    names = " ".join(case.name for case in CASES)
    parser.add_argument("--cases", default=",".join(SMALL), metavar="NAME,…", help=f"with * and ?, of {names}")
    parser.add_argument("--nodes", default="500", metavar="N,…")
    parser.add_argument("--runs", type=int, default=1, help="of each case, in turn with the others")
    parser.add_argument("--pods", type=int, default=200, help="of each run")
    parser.add_argument("--percentage", type=int, default=0, help="percentageOfNodesToScore; 0 for the default")
    chosen = parser.parse_args()
    try:
        cases, sizes = selected(chosen.cases.split(",")), sorted({int(each) for each in chosen.nodes.split(",")})
    except ValueError as error:
        parser.error(str(error))
    if missing := [file for file in (BINARY, PEER) if not file.exists()]:
        parser.error(f"{missing[0]} is not there: make bench")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    runs, failed = list[Run](), False
    with tempfile.TemporaryDirectory(prefix="bench-scheduler-") as directory, Cluster(Path(directory)) as cluster:
        for nodes in sizes:
            for case in cases * chosen.runs:
                try:
                    runs.append(cluster.run(case, nodes, chosen.pods, chosen.percentage))
                    print(f"{nodes} nodes, {case.name}: {runs[-1].rate:g} pods/s", file=sys.stderr, flush=True)
                except Exception as error:  # whatever failed, the other runs continue
                    print(f"{nodes} nodes, {case.name}: {error}", file=sys.stderr, flush=True)
                    failed = True
    OUTPUT.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    if runs:
        print(*table(runs), sep="\n")
    return int(failed or any(run.overcommitted for run in runs))


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: medians of the runs of each case, and ratios to the cases without an
    extender and with the Go extender."""
    loads = [run.load for run in runs]
    yield f"{os.cpu_count()} cores, kube-scheduler {KUBERNETES}, load average {min(loads):g} to {max(loads):g}"
    yield ""
    yield (
        "| nodes | case | pods a second | to `none` | to Go | extender ms a pod | to Go | switches a pod "
        "| overcommitted | stalled runs |"
    )
    yield "|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    grouped: dict[tuple[int, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.nodes, run.case), []).append(run)
    rates = {key: median(run.rate for run in those) for key, those in grouped.items()}
    times = {key: median(run.milliseconds for run in those) for key, those in grouped.items()}
    for (nodes, case), those in grouped.items():
        go = (nodes, _peer(case))
        rate, time = rates[nodes, case], times[nodes, case]
        cells = [
            f"{nodes:,}",
            f"`{case}`",
            f"{rate:.1f}",
            _ratio(rate, rates.get((nodes, Extender.NONE))),
            _ratio(rate, rates.get(go)),
            f"{time:.2f}",
            _ratio(time, times.get(go)),
            f"{median(run.switches for run in those):.1f}",
            str(sum(run.overcommitted for run in those)) if "schedulers" in case else "",
            str(sum(run.is_stalled for run in those) or ""),
        ]
        yield f"| {' | '.join(cells)} |"


def _peer(case: str) -> Extender:
    """Return the Go extender that is called in the same way."""
    if "onlyone" in case:
        return Extender.GO_ONLYONE
    return Extender.GO if case in (Extender.BERTH, Extender.BERTH_FULL) else Extender.GO_BIND


def _ratio(rate: float, other: float | None) -> str:
    return f"{rate / other:.2f}" if other else ""


if __name__ == "__main__":
    sys.exit(main())
