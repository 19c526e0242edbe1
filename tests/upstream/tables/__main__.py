"""Evaluate upstream's tables with Berth's plugins: python -m tests.upstream.tables

Exit status: 0 if exactly the cases of tests/upstream/differences.json differ, 1 if other cases differ or some of these
do not, 2 if upstream's tests cannot be run.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from berth.scheduling.fields.reading import MalformedField
from tests.e2e.kubernetes.control_plane import KUBERNETES
from tests.upstream import differences
from tests.upstream.staging import StagingError
from tests.upstream.tables.judge import ACCEPTED, JUDGES, WANTED, Unreadable
from tests.upstream.tables.recording import record

GROUP = "plugins"
"""Prefix of these cases' names among the differences."""


def main() -> int:
    """Compare the recorded rows, print a line for each table, and return the exit status."""
    try:
        folder = record(KUBERNETES)
    except StagingError as error:
        print(error, file=sys.stderr)
        return 2
    reasons = {name: reason for name, reason in differences.known().items() if name.startswith(f"{GROUP}/")}
    cases = judged(rows(folder))
    _report(cases, reasons)
    wrong = list(unexpected(cases, reasons))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        yield from map(orjson.loads, path.read_bytes().splitlines())


def judged(found: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the differences of each case. If a test does not name its cases, each row is a numbered case."""
    cases: defaultdict[str, list[str]] = defaultdict(list)
    numbers: Counter[str] = Counter()
    for row in found:
        case = f"{GROUP}/{row['table']}/{row['test']}"
        if "/" not in row["test"] and row["function"] not in {"Filter", "PreFilter", "PreScore", "Score"}:
            numbers[case] += 1
            case = f"{case}#{numbers[case]}"
        cases[case] += difference(row)
    return dict(cases)


def difference(row: Mapping[str, Any]) -> list[str]:
    """Return the difference between Berth's answer and upstream's; empty if they agree."""
    function, output = row["function"], row["output"]
    wanted = WANTED.get(function, lambda each: each)(output)
    try:
        got = JUDGES[function](row["input"])
    except (Unreadable, MalformedField, ValidationError) as error:
        got = f"unreadable: {error}"
    accepts: Callable[[Any, Any], bool] = ACCEPTED.get(function, operator.eq)
    if accepts(wanted, got):
        return []
    return [f"{function}: upstream {orjson.dumps(wanted).decode()}, Berth {orjson.dumps(got).decode()}"]


def unexpected(cases: Mapping[str, list[str]], reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield unlisted cases that differ, and listed cases that do not differ."""
    for case, found in cases.items():
        if found and case not in reasons:
            yield f"{case}\n    {found[0]}"
    for case in reasons:
        if case not in cases:
            yield f"{case} is listed and was not recorded"
        elif not cases[case]:
            yield f"{case} is listed and does not differ"


def _report(cases: Mapping[str, list[str]], reasons: Mapping[str, str]) -> None:
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for case, found in cases.items():
        verdict = "equal" if not found else "listed" if case in reasons else "unexpected"
        for table in (case.partition("/Test")[0].partition("/")[2], "all"):
            totals[table].update(("cases", verdict))
    for table, counts in sorted(totals.items(), key=lambda each: each[0] == "all"):
        print(f"{table:44}", *(f"{counts[name]:5} {name}" for name in ("cases", "equal", "listed", "unexpected")))


if __name__ == "__main__":
    sys.exit(main())
