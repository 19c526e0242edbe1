"""`python -m tests.bench [-o table|json]`."""

from __future__ import annotations

import argparse
import os
import sys
from itertools import chain


def main() -> None:
    """Run every benchmark; figures on standard output."""
    parser = argparse.ArgumentParser(prog="make bench", description="Berth's hot path beside its floor.")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    output = parser.parse_args().output
    # One log line and one set of metrics a call belong to what is measured, but not to what is shown.
    shown, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115

    from tests.bench import head_read, warm_filter
    from tests.bench.figures import show

    for figure in chain(warm_filter.figures(), head_read.figures()):
        measured, sys.stdout = sys.stdout, shown
        show([figure], output)
        sys.stdout = measured


if __name__ == "__main__":
    main()
