"""`python -m tests.bench.guard [counts] [ratios] [--write]`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.bench.guard.committed import COUNTS, RATIOS, Excess, Values, excesses, limit, read, write

TRIES = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where a value is beyond its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.guard", description="Costs beside committed values.")
    parser.add_argument("kinds", nargs="*", choices=("counts", "ratios", []), help="default: both")
    parser.add_argument("--write", action="store_true", help="commit to what is measured now")
    chosen = parser.parse_args(arguments)
    shown_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115 (the calls print their log lines)
    failed: list[Excess] = []
    for kind in chosen.kinds or ("counts", "ratios"):
        file, measure = _kind(kind)
        if chosen.write:
            runs = [measure(None) for _ in range(TRIES if kind == "ratios" else 1)]
            write(file, {name: min(run[name] for run in runs) for name in runs[0]})
            continue
        for line in judged(read(file), measure, failed):
            print(line, file=shown_to, flush=True)
    summary = "guard: within the limits" if not failed else f"guard: {len(failed)} beyond the limits"
    print(*failed, summary, sep="\n", file=shown_to)
    return 1 if failed else 0


def judged(committed: Values, measure: Callable[[Iterable[str] | None], Values], failed: list[Excess]) -> Iterable[str]:
    """A line for each value. What is beyond its limit is measured again: on a busy machine one measurement may be."""
    values = dict(measure(None))
    for _ in range(TRIES - 1):
        again = [each.name for each in excesses(values, committed)]
        if not again:
            break
        values |= {name: min(value, values[name]) for name, value in measure(again).items()}
    failed += excesses(values, committed)
    for name, value in values.items():
        most = f"{limit(name, committed[name]):g}" if name in committed else "none"
        yield f"{name:<58}{value:>12.6g}   limit {most}"


def _kind(kind: str) -> tuple[Path, Callable[[Iterable[str] | None], Values]]:
    # Only now: standard output is theirs.
    from tests.bench.guard import counts, ratios

    if kind == "counts":
        return COUNTS, lambda names: {
            name: value for name, value in counts.measured().items() if names is None or name in set(names)
        }
    return RATIOS, lambda names: ratios.measured(ratios.GUARDED if names is None else names)


if __name__ == "__main__":
    sys.exit(main())
