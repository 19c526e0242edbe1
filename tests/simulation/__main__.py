"""`python -m tests.simulation [--histories N] [--first SEED] [--seed SEED] [--jobs N]`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from .nodecache.history import History, Plan


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of one history. `error`: the broken invariant, if any."""

    seed: int
    steps: int
    error: str


def ran(seed: int) -> Ran:
    """One history; the same one for the same seed."""
    history, error = History(Plan.drawn(seed)), ""
    try:
        history.run()
    except Exception as broken:
        error = repr(broken)
    return Ran(seed, history.world.steps, error)


def main() -> int:
    """Runs histories; exit status 1 if an invariant broke, and how to see it again."""
    parser = argparse.ArgumentParser(prog="make soak", description="Histories of the node cache in virtual time.")
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return report([ran(chosen.seed)], time.monotonic())
    seeds = range(chosen.first, chosen.first + chosen.histories)
    started = time.monotonic()
    with ProcessPoolExecutor(chosen.jobs) as processes:
        return report(processes.map(ran, seeds, chunksize=10), started)


def report(histories: Iterable[Ran], started: float) -> int:
    """Print what broke, as it breaks, and the sum."""
    count = steps = broken = 0
    for history in histories:
        count, steps = count + 1, steps + history.steps
        if history.error:
            broken += 1
            print(f"seed {history.seed}: {history.error}\n  again: python -m tests.simulation --seed {history.seed}")
        if sys.stderr.isatty():
            print(f"\r{count} histories", end="", file=sys.stderr)
    print(f"{count} histories, {steps} steps, {time.monotonic() - started:.0f} s, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
