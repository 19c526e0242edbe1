"""`python -m tests.bench [PREFIX]`."""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    """Run the benchmarks. Print figures on standard output, and progress on standard error if it is a terminal."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Berth's hot path beside its floor.")
    parser.add_argument("prefix", nargs="?", default="", help="only figures whose names begin so, such as filter.full")
    arguments = parser.parse_args()
    # The measurement includes the log line and the metrics of a call, but the output does not.
    figures_to, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115

    from tests.bench import cold_start, functions, gangs, warm
    from tests.bench.figures import shown

    for module in (warm, gangs, cold_start, functions):
        for family in module.families():
            progress(f"measuring {family.name}")
            for figure in family.figures(arguments.prefix):
                progress("")
                print(shown(figure), file=figures_to, flush=True)
                progress(f"measuring {family.name}")
    progress("")


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<78}\r{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
