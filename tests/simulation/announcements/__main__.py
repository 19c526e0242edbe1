"""`python -m tests.simulation.announcements [--histories N] [--seed SEED]`: more histories than the tests have."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from .history import AnnouncementsHistory

MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of one history. error: the broken rule, if any."""

    seed: int
    bound: int
    rejected: int
    error: str


def ran(seed: int) -> Ran:
    """One history; the same one for the same seed."""
    history, error = AnnouncementsHistory(seed), ""
    try:
        history.run()
    except Exception as broken:
        error = repr(broken)
    return Ran(seed, history.bound, history.rejected, error)


def main() -> int:
    """Exit status 1 where a rule broke, and how to see it again."""
    parser = argparse.ArgumentParser(prog="make simulation", description="Rules about other pods in virtual time.")
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, help="this history alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    chosen = parser.parse_args()
    seeds = range(chosen.histories) if chosen.seed is None else range(chosen.seed, chosen.seed + 1)
    started = time.monotonic()
    with ProcessPoolExecutor(chosen.jobs) as processes:
        found = [*processes.map(ran, seeds, chunksize=10)]
    broken = [each for each in found if each.error]
    for each in broken[:MOST_SHOWN]:
        print(f"seed {each.seed}: {each.error}\n  again: python -m tests.simulation.announcements --seed {each.seed}")
    print(
        f"{len(found)} histories of rules about pods, {sum(each.bound for each in found)} binds, "
        f"{sum(each.rejected for each in found)} rejected, {time.monotonic() - started:.0f} s, {len(broken)} broken"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
