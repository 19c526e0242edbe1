"""Print generated cases: one a line, as the oracle and `tests.parity.answers` read them."""

from __future__ import annotations

import argparse
import sys

import orjson

from tests.parity.generator.cases import cases
from tests.parity.generator.features import Family


def main() -> None:
    """Print the cases that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.parity.generate")
    parser.add_argument("family", type=Family, choices=list(Family))
    parser.add_argument("-n", "--cases", type=int, default=100, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default %(default)s)")
    arguments = parser.parse_args()
    for case in cases(arguments.seed, arguments.family, arguments.cases, arguments.first):
        sys.stdout.buffer.write(orjson.dumps(case) + b"\n")


if __name__ == "__main__":
    main()
