"""What is written of the results: a table for the terminal, a section of the page, and the picture in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.scheduler.cases import (
    Case,
    baseline,
    beside_none,
    peer,
    target,
    with_one_scheduler,
)
from tests.bench.scheduler.plot import plot
from tests.bench.scheduler.results import Results, Run
from tests.bench.scheduler.workload import ALL_SLOTS

PROJECT = Path(__file__).parents[3]
RESULTS = Path(__file__).with_name("results.json")
PAGE = PROJECT / "docs" / "reference" / "performance.md"
PICTURE = PROJECT / "docs" / "images" / "scheduler-throughput.svg"
BUSY = 4
"""A load average of so many times the cores is not that of the benchmark alone."""

BEGIN, END = "<!-- begin: make bench-scheduler -->", "<!-- end: make bench-scheduler -->"


def write(results: Results, folder: Path) -> None:
    """Everything into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(results.json())
    (folder / "table.md").write_text(section(results))
    (folder / "plot.svg").write_text(plot(results))


def publish(results: Results) -> None:
    """Into the documents, and the runs beside this module."""
    RESULTS.write_text(results.json())
    PICTURE.write_text(plot(results))
    PAGE.write_text(page(PAGE.read_text(), results))


def page(text: str, results: Results) -> str:
    """The page with the section of these results in the place of the one that it has."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{section(results)}{END}{after}"


def table(results: Results) -> str:
    """For a terminal: a line for each case and size."""
    columns = ("/ none", "/ null", "/ go")
    lines = [
        f"{'nodes':>6}  {'case':<28}{'pods/s':>9}{'ms a pod':>10}{''.join(f'{each:>8}' for each in columns)}  targets"
    ]
    for nodes in results.sizes:
        for case in results.cases:
            rate = results.rate(case, nodes)
            if rate:
                ratios = _ratios(results, case, nodes)
                shown = "".join(f"{'' if value is None else f'{value:.2f}':>8}" for value, _ in ratios)
                targets = "".join(
                    f"  {column} >= {least:g}"
                    for column, (_, least) in zip(columns, ratios, strict=True)
                    if least is not None
                )
                pods = _pods(results, case, nodes)
                line = f"{nodes:>6}  {case.name:<28}{rate:>9.1f}{1000 / rate:>10.1f}{shown}{targets}"
                lines.append(f"{line}  {pods}".rstrip())
    return "\n".join([*lines, *_counted_lines(results)])


def _pods(results: Results, case: Case, nodes: int) -> str:
    """The pods of its runs, where other runs have another number."""
    return f"{results.asked(case, nodes)} pods" if len({run.asked for run in results.runs}) > 1 else ""


def _runs(results: Results, case: Case, nodes: int) -> str:
    """Its runs, where other cases have more."""
    runs = len(results.of(case, nodes))
    return "" if runs == _most_runs(results) else "one run" if runs == 1 else f"{runs} runs"


def _most_runs(results: Results) -> int:
    return max(len(results.of(case, nodes)) for case in results.cases for nodes in results.sizes)


def _name(results: Results, case: Case, nodes: int) -> str:
    parts = (f"`{case.name}`", _pods(results, case, nodes), _runs(results, case, nodes))
    return ", ".join(each for each in parts if each)


def _ratios(results: Results, case: Case, nodes: int) -> list[tuple[float | None, float | None]]:
    """To no extender, to one that does not look, to the peer: the ratio and its target."""
    others = (beside_none(case), baseline(case), peer(case))
    return [
        (None if other is None else results.ratio(case, other, nodes), target(case, other, nodes)) for other in others
    ]


def section(results: Results) -> str:
    """For the page."""
    return "\n".join([*_facts(results), *_tables(results), ""])


def _facts(results: Results) -> Iterator[str]:
    on, (least, most) = results.machine, results.loads()
    dates = [run.date for run in results.runs]
    runs = _most_runs(results)
    yield ""
    yield "| | |"
    yield "|---|---|"
    software = f"Python {on.python}, kube-scheduler {on.kubernetes}"
    yield f"| machine | {on.cores} cores, {on.processor}, {software} |"
    yield f"| measured | {' to '.join(sorted({min(dates), max(dates)}))} |"
    yield f"| pods of a run | {' or '.join(map(str, sorted({run.asked for run in results.runs})))} |"
    yield f"| load average when a run began | {least:g} to {most:g} |"
    yield f"| figures | {'one run' if runs == 1 else f'medians of {runs} runs, in turn with the other cases'} |"
    yield ""
    if least > BUSY * on.cores:
        yield "**Other programs used this machine all the time. A quiet one binds many more pods a second.**"
        yield ""


def _tables(results: Results) -> Iterator[str]:
    for nodes in results.sizes:
        plain = [case for case in results.cases if not case.extender.binds]
        yield f"{nodes:,} nodes:"
        yield ""
        yield "| case | pods a second | ms a pod | ratio to `none` | ratio to `null` | ratio to `go-full` |"
        yield "|---|---:|---:|---:|---:|---:|"
        for case in plain:
            yield from _row(results, case, nodes)
        yield ""
        yield from _counted_table(results, nodes)


def _row(results: Results, case: Case, nodes: int) -> Iterator[str]:
    rate = results.rate(case, nodes)
    if rate:
        shown = " | ".join(_cell(*each) for each in _ratios(results, case, nodes))
        yield f"| {_name(results, case, nodes)} | {rate:.1f} | {1000 / rate:.1f} | {shown} |"


def _cell(ratio: float | None, least: float | None) -> str:
    value = "" if ratio is None else f"{ratio:.2f}"
    return value if least is None else f"{value} (target {least:g})".strip()


def _counted_table(results: Results, nodes: int) -> Iterator[str]:
    cases = [case for case in results.cases if case.extender.binds and results.of(case, nodes)]
    if cases:
        columns = (
            "pods a second | to one scheduler | conflicts per bind | slots taken, pods beyond | overcommitted nodes"
        )
        yield f"| Berth binds | {columns} |"
        yield "|---|---:|---:|---:|---:|---:|"
        for case in cases:
            found = _Ledger.of(results.of(case, nodes))
            rate, ratio = results.rate(case, nodes), _cell(_to_one_scheduler(results, case, nodes), None)
            cells = f"{rate:.1f} | {ratio} | {found.conflicts:.3f} | {found.slots} | {found.overcommitted}"
            yield f"| {_name(results, case, nodes)} | {cells} |"
        yield ""


def _counted_lines(results: Results) -> Iterator[str]:
    for nodes in results.sizes:
        for case in results.cases:
            if case.extender.binds and results.of(case, nodes):
                found = _Ledger.of(results.of(case, nodes))
                slots = f"slots taken, pods beyond: {found.slots}, " if found.slots else ""
                shown = f"{found.conflicts:.3f} conflicts per bind, {slots}{found.overcommitted} nodes overcommitted"
                ratio = _to_one_scheduler(results, case, nodes)
                beside = "" if ratio is None else f", {ratio:.2f} of the pods a second of one scheduler"
                yield f"{nodes:>6}  {case.name}: {shown}{beside}"


def _to_one_scheduler(results: Results, case: Case, nodes: int) -> float | None:
    other = with_one_scheduler(case)
    return None if other is None else results.ratio(case, other, nodes)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What binds did in some runs. conflicts: for each pod that was bound. slots: how many were taken and how many pods
    then found none, in the run with the fewest; empty where nothing is counted. overcommitted: nodes, in all runs."""

    conflicts: float
    slots: str
    overcommitted: int

    @classmethod
    def of(cls, runs: Sequence[Run]) -> _Ledger:
        counted = [run.counted for run in runs if run.counted is not None]
        slots = [
            (each.taken, each.rejected) for each in counted if each.taken is not None and each.rejected is not None
        ]
        taken, rejected = min(slots, default=(0, 0))
        return cls(
            sum(each.conflicts for each in counted) / max(1, sum(run.placed for run in runs)),
            f"{taken} of {ALL_SLOTS}, {rejected}" if slots else "",
            sum(each.overcommitted for each in counted),
        )
