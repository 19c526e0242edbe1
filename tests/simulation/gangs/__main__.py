"""`python -m tests.simulation.gangs [--histories N] [--members N]`: gangs in virtual time, more than the tests have."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from .binds import gang_of
from .crashes import commit_cases
from .histories import run_two_gangs

MOST_SHOWN = 10


def broken_histories(part: int, of: int, histories: int) -> tuple[int, list[str]]:
    """Run each history in so many: how many there were, and which of them broke something."""
    return _broken([partial(run_two_gangs, seed) for seed in range(part, histories, of)])


def broken_commits(part: int, of: int, members: int) -> tuple[int, list[str]]:
    """The same for a commit of so many nodes, interrupted at each call in every way."""
    return _broken([case.run for case in islice(commit_cases(gang_of(members)), part, None, of)])


def _broken(runs: Sequence[Callable[[], object]]) -> tuple[int, list[str]]:
    found = []
    for run in runs:
        try:
            run()
        except AssertionError as error:
            found.append(str(error))
    return len(runs), found


def main() -> int:
    """Exit status 1 where something does not hold."""
    parser = argparse.ArgumentParser(prog="make simulation", description="Gangs in virtual time.")
    parser.add_argument("--histories", type=int, default=200, help="of two gangs on room for one")
    parser.add_argument("--members", type=int, default=120, help="of the gang whose commit is interrupted")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    chosen = parser.parse_args()
    started, parts = time.monotonic(), range(chosen.jobs)
    with ProcessPoolExecutor(chosen.jobs) as processes:
        histories = [*processes.map(partial(broken_histories, of=chosen.jobs, histories=chosen.histories), parts)]
        commits = [*processes.map(partial(broken_commits, of=chosen.jobs, members=chosen.members), parts)]
    found = [each for _, broken in (*histories, *commits) for each in broken]
    print(*found[:MOST_SHOWN], sep="\n", end="\n" if found else "")
    counts = sum(count for count, _ in histories), sum(count for count, _ in commits)
    print(
        f"{counts[0]} histories of two gangs, {counts[1]} commits of {chosen.members} members cut short, "
        f"{time.monotonic() - started:.0f} s, {len(found)} broken"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
