"""`python -m tests.simulation [KIND] [--seed SEED]`: more histories and interrupted calls than the tests run."""

from __future__ import annotations

import argparse
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import Protocol

from .announcements.history import AnnouncementsHistory
from .gangs.binds import gang_of, run_two_gangs
from .gangs.crashes import Afterwards, cases, cases_of_watchers, commit_cases
from .nodecache.history import History, Plan
from .reservations import bind_crashes

PROCESSES = os.cpu_count() or 1
MOST_SHOWN = 10
Runs = Iterator[tuple[str, Callable[[], object]]]
"""Runs with their names: the seed for a history, the full description for a case."""


class Case(Protocol):
    """A call that is interrupted, and the steps afterwards."""

    def run(self) -> object: ...


def _histories(run: Callable[[int], object], number: int, seed: int | None) -> Runs:
    for each in range(number) if seed is None else (seed,):
        yield f"seed {each}", partial(run, each)


def _cases(found: Iterable[Case]) -> Runs:
    for case in found:
        yield str(case), case.run


def _gang_binds(chosen: Namespace) -> Runs:
    """Return samples: binds of small gangs interrupted at any call, and watchers that die at any of their calls."""
    interrupted = (case for case in cases() if case.afterwards is not Afterwards.COMES_AGAIN)
    with_watchers = islice(cases_of_watchers(), 0, None, 10 * chosen.each)
    return _cases(chain(islice(interrupted, 0, None, chosen.each), with_watchers))


def _gang_commits(chosen: Namespace) -> Runs:
    """Return commits of a large gang that are interrupted at each call in every way."""
    gang = gang_of(chosen.members)
    with_watchers = [*commit_cases(gang, (Afterwards.STAYS, Afterwards.DELETED))][:: chosen.each]
    return _cases([*commit_cases(gang), *with_watchers])


KINDS: Mapping[str, Callable[[Namespace], Runs]] = {
    "node-cache": lambda chosen: _histories(
        lambda seed: History(Plan.drawn(seed)).run(), chosen.histories, chosen.seed
    ),
    "binds-cut-short": lambda chosen: _cases(bind_crashes.cases()),
    "rules": lambda chosen: _histories(lambda seed: AnnouncementsHistory(seed).run(), chosen.rules, chosen.seed),
    "two-gangs": lambda chosen: _histories(run_two_gangs, chosen.gangs, chosen.seed),
    "gang-binds": _gang_binds,
    "gang-commits": _gang_commits,
}


def broken(kind: str, chosen: Namespace, part: int) -> tuple[int, list[str]]:
    """Run this process's part of a kind; return the number of runs and a line for each run that failed."""
    count, found = 0, []
    for name, run in islice(KINDS[kind](chosen), part, None, PROCESSES):
        count += 1
        try:
            run()
        except Exception as error:
            found.append(f"{name}: {error!r}")
    return count, found


def main() -> int:
    """Print the runs that failed, at most MOST_SHOWN of a kind; return the exit status, which is 1 if any failed."""
    parser = argparse.ArgumentParser(prog="make simulation", description="The protocols in virtual time.")
    parser.add_argument("kind", nargs="?", choices=KINDS, help="all by default")
    parser.add_argument("--seed", type=int, help="this history of the kind alone")
    parser.add_argument("--histories", type=int, default=2000, help="of the node cache")
    parser.add_argument("--rules", type=int, default=2000, help="histories of rules about other pods")
    parser.add_argument("--gangs", type=int, default=200, help="histories of two gangs on room for one")
    parser.add_argument("--members", type=int, default=120, help="of the gang whose commit is interrupted")
    parser.add_argument("--each", type=int, default=10, help="run one in so many of the cases with watchers")
    chosen = parser.parse_args()
    is_broken = False
    with ProcessPoolExecutor(PROCESSES) as processes:
        for kind in (chosen.kind,) if chosen.kind else KINDS:
            started = time.monotonic()
            results = [*processes.map(partial(broken, kind, chosen), range(PROCESSES))]
            found = [line for _, lines in results for line in lines]
            print(*found[:MOST_SHOWN], sep="\n", end="\n" if found else "")
            count = sum(each for each, _ in results)
            print(f"{kind}: {count} run, {time.monotonic() - started:.0f} s, {len(found)} broken", flush=True)
            is_broken |= bool(found)
    return int(is_broken)


if __name__ == "__main__":
    sys.exit(main())
