"""Compare Berth with kube-scheduler's own plugins on generated cases.

Exit status: 0 if there are no differences, 1 if there are, 2 if the comparison itself fails.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import orjson

from tests.parity.comparison import Comparison, InvalidCase
from tests.parity.coverage import Coverage
from tests.parity.differences import Difference
from tests.parity.generator.cases import cases
from tests.parity.generator.features import Family
from tests.parity.responder import Case, Responder, ResponderFailed

BATCH = 250
"""Cases that are under way at a time."""

CHECKED = 250
"""Cases of each family of which the objects are checked: whether an API server could hold them."""

SHOWN_OF_A_CASE = 5


class TooLittleCovered(Exception):
    """The cases say little about some plugin."""


def main() -> int:
    """Compare as the arguments say; the result is the exit status."""
    arguments = _arguments()
    try:
        with ExitStack() as running:
            oracle = running.enter_context(Responder([arguments.oracle]))
            berth = running.enter_context(Responder(shlex.split(arguments.berth)))
            checker = running.enter_context(Responder([arguments.oracle, "-check"]))
            comparison = Comparison(oracle, berth, checker)
            if arguments.replay:
                return _replay(comparison, arguments.replay)
            matters: Counter[str] = Counter()
            differing = sum(_compare(comparison, family, arguments, matters) for family in arguments.family or Family)
            _report_matters(matters, arguments.least)
            return 1 if differing else 0
    except (InvalidCase, ResponderFailed, TooLittleCovered) as failure:
        print(failure, file=sys.stderr)
        return 2


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.parity.compare")
    parser.add_argument("--oracle", default=".build/parity-oracle", help="the built oracle (default %(default)s)")
    parser.add_argument(
        "--berth", default=".venv/bin/berth simulate --jsonl", help="command to compare (default %(default)s)"
    )
    parser.add_argument("-n", "--cases", type=int, default=5000, help="of each family (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    parser.add_argument("--family", type=Family, choices=list(Family), action="append", help="default: all")
    parser.add_argument("--most", type=int, default=5, help="rules to minimise a case for (default %(default)s)")
    parser.add_argument("--save", type=Path, default=Path(".build/parity"), help="where minimised cases go")
    parser.add_argument("--least", type=int, default=0, help="cases in which each plugin must matter (default none)")
    parser.add_argument("--details", action="store_true", help="count reasons and forms of the model, too")
    parser.add_argument("--replay", type=Path, nargs="+", help="compare saved cases only")
    return parser.parse_args()


def _compare(comparison: Comparison, family: Family, arguments: argparse.Namespace, matters: Counter[str]) -> int:
    """Compare a family, print what was found, and return in how many cases."""
    coverage = Coverage(with_forms=arguments.details)
    comparison.check(list(cases(arguments.seed, family, min(CHECKED, arguments.cases))))
    first_of_rule: dict[str, tuple[int, Case]] = {}
    differing = 0
    started = time.perf_counter()
    for number, case, found in _compared(comparison, family, arguments, coverage):
        if not found:
            continue
        differing += 1
        for difference in found:
            if difference.rule not in first_of_rule:
                first_of_rule[difference.rule] = number, case
                print(f"{family} case {number}: {difference}", flush=True)
    matters += coverage.matters
    rate = arguments.cases / (time.perf_counter() - started)
    print(f"== {family}: {differing} of {arguments.cases} cases differ (seed {arguments.seed}, {rate:.0f} cases/s)")
    for line in [*coverage.table(), *(coverage.details() if arguments.details else ())]:
        print("   " + line)
    for rule in list(first_of_rule)[: arguments.most]:
        number, case = first_of_rule[rule]
        name = f"{family}-{arguments.seed}-{number}-{rule.replace(' ', '-')}.json"
        _save_minimised(comparison, family, case, rule, arguments.save / name)
    return differing


def _report_matters(matters: Counter[str], least: int) -> None:
    print(
        "== cases in which a plugin matters: "
        + ", ".join(f"{plugin} {count}" for plugin, count in sorted(matters.items()))
    )
    short = [plugin for plugin, count in matters.items() if count < least]
    if short:
        raise TooLittleCovered(f"fewer than {least} cases matter to {', '.join(sorted(short))}: compare more")


def _compared(
    comparison: Comparison, family: Family, arguments: argparse.Namespace, coverage: Coverage
) -> Iterator[tuple[int, Case, list[Difference]]]:
    for first in range(0, arguments.cases, BATCH):
        batch = list(cases(arguments.seed, family, min(BATCH, arguments.cases - first), first))
        try:
            answers = comparison.answers(batch)
        except ResponderFailed as failure:
            raise ResponderFailed(f"{family}, in the batch that begins with case {first}: {failure}") from failure
        for index, (case, (oracle, berth)) in enumerate(zip(batch, answers, strict=True)):
            coverage.add(case, oracle)
            yield first + index, case, comparison.differences(family, case, oracle, berth)


def _save_minimised(comparison: Comparison, family: Family, case: Case, rule: str, path: Path) -> None:
    smallest = comparison.minimised(family, case, rule)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps({"family": family, **smallest}, option=orjson.OPT_INDENT_2))
    print(f"-- {rule}: {path} (replay: python -m tests.parity.compare --replay {path})")
    _print_differences(comparison.ask(family, smallest))


def _replay(comparison: Comparison, paths: list[Path]) -> int:
    """Compare saved cases; a case says what family it is of."""
    status = 0
    for path in paths:
        case = orjson.loads(path.read_bytes())
        found = comparison.ask(Family(case.pop("family")), case)
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
