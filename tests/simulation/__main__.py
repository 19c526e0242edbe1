"""`python -m tests.simulation [--histories N] [--first SEED] [--seed SEED]`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.history import History, Plan


def main() -> int:
    """Runs histories; exit status 1 if an invariant broke, and how to see it again."""
    parser = argparse.ArgumentParser(prog="make soak", description="Histories of the node cache in virtual time.")
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.histories) if chosen.seed is None else [chosen.seed]
    started, steps, broken = time.monotonic(), 0, 0
    for seed in seeds:
        history = History(Plan(seed))
        try:
            history.run()
        except AssertionError as error:
            broken += 1
            print(f"seed {seed}: {error}\n  again: python -m tests.simulation --seed {seed}", flush=True)
        steps += history.world.steps
        if sys.stderr.isatty():
            print(f"\r{seed - chosen.first + 1} histories", end="", file=sys.stderr)
    print(f"{len(seeds)} histories, {steps} steps, {time.monotonic() - started:.0f} s, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
