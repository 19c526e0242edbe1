"""What is written of the results: a table for the terminal, a section of the page, and the picture in it."""

from __future__ import annotations

from collections.abc import Iterator
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
from tests.bench.scheduler.results import Results

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
                lines.append(f"{nodes:>6}  {case.name:<28}{rate:>9.1f}{1000 / rate:>10.1f}{shown}{targets}".rstrip())
    return "\n".join([*lines, *_counted_lines(results)])


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
    runs = max(len(results.of(case, nodes)) for case in results.cases for nodes in results.sizes)
    yield ""
    yield "| | |"
    yield "|---|---|"
    software = f"Python {on.python}, kube-scheduler {on.kubernetes}"
    yield f"| machine | {on.cores} cores, {on.processor}, {software}, {on.date} |"
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
        yield f"| `{case.name}` | {rate:.1f} | {1000 / rate:.1f} | {shown} |"


def _cell(ratio: float | None, least: float | None) -> str:
    value = "" if ratio is None else f"{ratio:.2f}"
    return value if least is None else f"{value} (target {least:g})".strip()


def _counted_table(results: Results, nodes: int) -> Iterator[str]:
    cases = [case for case in results.cases if case.extender.binds and results.of(case, nodes)]
    if cases:
        yield "| Berth binds | pods a second | to one scheduler | conflicts per bind | overcommitted nodes |"
        yield "|---|---:|---:|---:|---:|"
        for case in cases:
            conflicts, overcommitted = _of_ledger(results, case, nodes)
            rate, ratio = results.rate(case, nodes), _cell(_to_one_scheduler(results, case, nodes), None)
            yield f"| `{case.name}` | {rate:.1f} | {ratio} | {conflicts:.3f} | {overcommitted} |"
        yield ""


def _counted_lines(results: Results) -> Iterator[str]:
    for nodes in results.sizes:
        for case in results.cases:
            if case.extender.binds and results.of(case, nodes):
                conflicts, overcommitted = _of_ledger(results, case, nodes)
                found = f"{conflicts:.3f} conflicts per bind, {overcommitted} nodes overcommitted"
                ratio = _to_one_scheduler(results, case, nodes)
                beside = "" if ratio is None else f", {ratio:.2f} of the pods a second of one scheduler"
                yield f"{nodes:>6}  {case.name}: {found}{beside}"


def _to_one_scheduler(results: Results, case: Case, nodes: int) -> float | None:
    other = with_one_scheduler(case)
    return None if other is None else results.ratio(case, other, nodes)


def _of_ledger(results: Results, case: Case, nodes: int) -> tuple[float, int]:
    """Conflicts for each pod that was bound, and how many nodes had more than their capacity, in all runs."""
    runs = results.of(case, nodes)
    counted = [run.counted for run in runs if run.counted is not None]
    placed = sum(run.placed for run in runs)
    return sum(each.conflicts for each in counted) / max(1, placed), sum(each.overcommitted for each in counted)
