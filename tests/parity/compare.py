"""Compare Berth with kube-scheduler's own plugins on generated cases.

Exit status: 0 if there are no differences, 1 if there are, 2 if the comparison itself fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import orjson

from tests.parity.batches import batches, compared
from tests.parity.comparison import Comparison, InvalidCase, Programs
from tests.parity.coverage import Coverage
from tests.parity.differences import Difference
from tests.parity.generator.cases import case, cases
from tests.parity.generator.features import Family
from tests.parity.responder import Case, ResponderFailed
from tests.parity.versions import VERSION, comparable, uncovered, unexpected

SAVED = Path(".build/parity")
MINIMISED = 5
"""The maximum number of rules of a family for which a case is minimized."""

CHECKED = 250
"""Number of cases of each family for which to check that an API server could store the objects."""

SHOWN_OF_A_CASE = 5


class TooLittleCovered(Exception):
    """Too few cases cover a plugin."""


def main() -> int:
    """Compare according to the arguments, and return the exit status."""
    arguments = _arguments()
    version = arguments.kubernetes
    programs = Programs(f".build/parity-oracle-{version}", version)
    try:
        with programs.running() as comparison:
            if arguments.replay:
                return _replay(comparison, arguments.replay)
            if wrong := unexpected(version, comparison.ask):
                print(*wrong, sep="\n")
                return 1
            coverage = Coverage()
            families = arguments.family or list(Family)
            differing = sum(_compare(comparison, programs, family, arguments, coverage) for family in families)
        print(*coverage.table(), sep="\n")
        thin = coverage.thin(arguments.least, uncovered(version))
        if thin:
            raise TooLittleCovered(f"fewer than {arguments.least} cases say something about {', '.join(thin)}")
        return 1 if differing else 0
    except (InvalidCase, ResponderFailed, TooLittleCovered) as failure:
        print(failure, file=sys.stderr)
        return 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.parity.compare")
    parser.add_argument("--kubernetes", default=VERSION, help="version of the oracle (default %(default)s)")
    parser.add_argument("--cases", type=int, default=5000, help="of each family (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--family", type=Family, choices=list(Family), action="append", help="default: all")
    parser.add_argument(
        "--least", type=int, default=0, help="cases in which each plugin must say something (default none)"
    )
    parser.add_argument("--replay", type=Path, nargs="+", help="compare saved cases only")
    return parser.parse_args()


def _compare(
    comparison: Comparison, programs: Programs, family: Family, arguments: argparse.Namespace, coverage: Coverage
) -> int:
    """Compare a family, print the differences, and return the number of cases that differ."""
    seed, count = arguments.seed, arguments.cases
    version = programs.version
    comparison.check([comparable(each, version) for each in cases(seed, family, min(CHECKED, count))])
    first_of_rule: dict[str, int] = {}
    differing = 0
    started = time.perf_counter()
    for done in compared(batches(programs, family, seed, count)):
        coverage.update(done.coverage)
        differing += len(done.differences)
        for number, found in done.differences.items():
            for difference in found:
                if difference.rule not in first_of_rule:
                    first_of_rule[difference.rule] = number
                    print(f"{family} case {number}: {difference}", flush=True)
    seconds = time.perf_counter() - started
    rate = f"{seconds:.0f} s, {count / seconds:.0f} cases/s"
    print(f"== {family}: {differing} of {count} cases differ (seed {seed}, {rate})", flush=True)
    for rule in list(first_of_rule)[:MINIMISED]:
        drawn = comparable(case(seed, family, first_of_rule[rule]), version)
        _save_minimised(comparison, family, drawn, rule, f"{family}-{seed}-{first_of_rule[rule]}")
    return differing


def _save_minimised(comparison: Comparison, family: Family, drawn: Case, rule: str, name: str) -> None:
    smallest = comparison.minimised(family, drawn, rule)
    path = SAVED / f"{name}-{rule.replace(' ', '-')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps({"family": family, **smallest}, option=orjson.OPT_INDENT_2))
    print(f"-- {rule}: {path} (replay: python -m tests.parity.compare --replay {path})")
    _print_differences(comparison.ask(family, smallest))


def _replay(comparison: Comparison, paths: list[Path]) -> int:
    """Compare saved cases; a case contains its family."""
    status = 0
    for path in paths:
        saved = orjson.loads(path.read_bytes())
        found = comparison.ask(Family(saved.pop("family")), saved)
        print(f"-- {path}: {len(found)} differences")
        _print_differences(found)
        status = 1 if found else status
    return status


def _print_differences(found: list[Difference]) -> None:
    for difference in found[:SHOWN_OF_A_CASE]:
        print(f"   {difference}")
    if len(found) > SHOWN_OF_A_CASE:
        print(f"   and {len(found) - SHOWN_OF_A_CASE} more")


if __name__ == "__main__":
    sys.exit(main())
