"""Compares the answers of both programs to a case."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from tests.parity.differences import Difference, differences, preemption_differences, still_differ
from tests.parity.equal_victims import in_berths_order
from tests.parity.generator.features import Family
from tests.parity.minimise import minimise
from tests.parity.responder import Answer, Case, Responder
from tests.parity.versions import VERSION


class InvalidCase(Exception):
    """The generator created objects that an API server would reject."""


@dataclass(frozen=True)
class Programs:
    """The two sides: the oracle's path and its version of Kubernetes, and Berth."""

    oracle: str
    version: str = VERSION

    @contextmanager
    def running(self) -> Iterator[Comparison]:
        """Start both, and the oracle a second time as the checker."""
        # One worker: a large comparison uses several processes.
        with (
            Responder([self.oracle, "-workers", "1"]) as oracle,
            Responder([sys.executable, "-m", "tests.parity.answers"]) as berth,
            Responder([self.oracle, "-workers", "1", "-check"]) as checker,
        ):
            yield Comparison(oracle, berth, checker)


class Comparison:
    """kube-scheduler's plugins on one side, Berth on the other.

    `checker` reports whether an API server could store a case's objects; a minimized case stays valid.
    """

    def __init__(self, oracle: Responder, berth: Responder, checker: Responder) -> None:
        self._oracle = oracle
        self._berth = berth
        self._checker = checker

    def check(self, cases: Sequence[Case]) -> None:
        """Reject cases with objects that an API server would reject."""
        for case, answer in zip(cases, self._checker.answer_all([orjson.dumps(case) for case in cases]), strict=True):
            if answer["findings"]:
                raise InvalidCase(f"{answer['findings'][0]} in {orjson.dumps(case).decode()}")

    def answers(self, cases: Sequence[Case]) -> list[tuple[Answer, Answer]]:
        """Return the answers of both programs, computed concurrently."""
        lines = [orjson.dumps(case) for case in cases]
        with ThreadPoolExecutor(2) as programs:
            oracle = programs.submit(self._oracle.answer_all, lines)
            berth = programs.submit(self._berth.answer_all, lines)
            return list(zip(oracle.result(), berth.result(), strict=True))

    def differences(self, family: Family, case: Case, oracle: Answer, berth: Answer) -> list[Difference]:
        """Return the differences of the answers, without values that kube-scheduler does not specify."""
        found = differences(family, oracle, berth)
        if family is not Family.PREEMPTION:
            return found
        if preemption_differences(oracle, berth):
            oracle = in_berths_order(case, oracle, berth, self._oracle.answer)
        return found + preemption_differences(oracle, berth)

    def ask(self, family: Family, case: Case) -> list[Difference]:
        return self.differences(family, case, self._oracle.answer(case), self._berth.answer(case))

    def minimised(self, family: Family, case: Case, rule: str) -> Case:
        """Return a smaller case with a difference in the same rule."""
        must_be_valid = self._is_valid(case)

        def shows(smaller: Case) -> bool:
            if must_be_valid and not self._is_valid(smaller):
                return False
            return still_differ(self.ask(family, smaller), rule)

        return minimise(case, shows)

    def _is_valid(self, case: Case) -> bool:
        return not self._checker.answer(case)["findings"]
