"""`python -m tests.simulation.gangs [--histories N] [--members N] [--each N]`: more of gangs in virtual time than the
tests have."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice

from .binds import gang_of
from .crashes import Afterwards, cases, cases_of_watchers, commit_cases
from .histories import run_two_gangs

MOST_SHOWN = 10


def broken_histories(part: int, of: int, histories: int) -> tuple[int, list[str]]:
    """Run each history in so many: how many there were, and which of them broke something."""
    return _broken(partial(run_two_gangs, seed) for seed in range(part, histories, of))


def broken_commits(part: int, of: int, members: int, each: int) -> tuple[int, list[str]]:
    """The same for a commit of so many nodes, interrupted at each call in every way. each: of the cases with watchers,
    one in so many."""
    gang = gang_of(members)
    found = [*commit_cases(gang), *[*commit_cases(gang, (Afterwards.STAYS, Afterwards.DELETED))][::each]]
    return _broken(case.run for case in found[part::of])


def broken_crashes(part: int, of: int, each: int) -> tuple[int, list[str]]:
    """The same for binds of small gangs, interrupted at each call, and for watchers that die at each of theirs."""
    with_watchers = chain(
        islice((case for case in cases() if case.afterwards is not Afterwards.COMES_AGAIN), 0, None, each),
        islice(cases_of_watchers(), 0, None, 10 * each),
    )
    return _broken(case.run for case in islice(with_watchers, part, None, of))


def _broken(runs: Iterable[Callable[[], object]]) -> tuple[int, list[str]]:
    count, found = 0, []
    for run in runs:
        count += 1
        try:
            run()
        except AssertionError as error:
            found.append(str(error))
    return count, found


def main() -> int:
    """Exit status 1 where something does not hold."""
    parser = argparse.ArgumentParser(prog="make simulation", description="Gangs in virtual time.")
    parser.add_argument("--histories", type=int, default=200, help="of two gangs on room for one")
    parser.add_argument("--members", type=int, default=120, help="of the gang whose commit is interrupted")
    parser.add_argument("--each", type=int, default=10, help="run one in so many of the cases with watchers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    chosen = parser.parse_args()
    started, of, each = time.monotonic(), chosen.jobs, chosen.each
    with ProcessPoolExecutor(of) as processes:

        def run(broken: Callable[..., tuple[int, list[str]]], **arguments: int) -> tuple[int, list[str]]:
            results = [*processes.map(partial(broken, of=of, **arguments), range(of))]
            return sum(count for count, _ in results), [each for _, broken in results for each in broken]

        histories, first = run(broken_histories, histories=chosen.histories)
        crashes, second = run(broken_crashes, each=each)
        commits, third = run(broken_commits, members=chosen.members, each=each)
    found = [*first, *second, *third]
    print(*found[:MOST_SHOWN], sep="\n", end="\n" if found else "")
    print(
        f"{histories} histories of two gangs, {crashes} binds and watchers of gangs cut short, {commits} commits of "
        f"{chosen.members} members cut short, {time.monotonic() - started:.0f} s, {len(found)} broken"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
