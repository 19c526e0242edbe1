"""`python -m tests.simulation.cut_short [--all]`: every bind that is cut short, none left out."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from .reservations.bind_crashes import cases

MOST_SHOWN = 10


def broken(part: int, of: int, *, all_afterwards: bool) -> tuple[int, list[str]]:
    """Run each case in so many of them: how many there were, and which of them broke something."""
    count, found = 0, []
    for case in islice(cases(all_afterwards=all_afterwards), part, None, of):
        count += 1
        try:
            case.run()
        except AssertionError as error:
            found.append(f"{case}: {error}")
    return count, found


def main() -> int:
    """Exit status 1 where something does not hold, with the cases."""
    parser = argparse.ArgumentParser(prog="make soak", description="Every bind, cut short at every call in every way.")
    parser.add_argument("--all", action="store_true", help="each with all that may happen afterwards, not in turns")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    chosen = parser.parse_args()
    started = time.monotonic()
    with ProcessPoolExecutor(chosen.jobs) as processes:
        run = partial(broken, of=chosen.jobs, all_afterwards=chosen.all)
        results = list(processes.map(run, range(chosen.jobs)))
    found = list(_told(results))
    count = sum(each for each, _ in results)
    print(*found[:MOST_SHOWN], sep="\n", end="\n" if found else "")
    print(f"{count} binds cut short, {time.monotonic() - started:.0f} s, {len(found)} broken")
    return 1 if found else 0


def _told(results: list[tuple[int, list[str]]]) -> Iterator[str]:
    for _, found in results:
        yield from found


if __name__ == "__main__":
    sys.exit(main())
