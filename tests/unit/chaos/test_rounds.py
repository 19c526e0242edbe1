"""The order of the faults, and the text of a round."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import cast

import pytest

from tests.chaos import rounds
from tests.chaos.checks import CheckKind, Checks, Finding
from tests.chaos.faults.every_fault import FAULTS
from tests.chaos.rounds import Round, deck

BROKEN = Finding(CheckKind.LEDGER, "it was released")


def test_each_fault_comes_once_before_any_comes_twice() -> None:
    first, second = (list(islice(deck(FAULTS, Random(seed)), 2 * len(FAULTS))) for seed in (1, 2))
    names = sorted(each.name for each in FAULTS)
    for drawn in (first, second):
        assert sorted(each.name for each in drawn[: len(FAULTS)]) == names
        assert sorted(each.name for each in drawn[len(FAULTS) :]) == names
    assert first != second


def test_the_same_seed_draws_the_same_order() -> None:
    assert list(islice(deck(FAULTS, Random(3)), 40)) == list(islice(deck(FAULTS, Random(3)), 40))


def test_the_verdict_names_each_check_that_broke_once() -> None:
    findings = [Finding(CheckKind.DOCTOR, "a"), Finding(CheckKind.LEDGER, "b"), Finding(CheckKind.LEDGER, "c")]
    broken = Round(1, 0, "head-lost", None, findings, "")
    assert (broken.holds, broken.verdict) == (False, "broken: ledger, doctor")
    sound = Round(1, 0, "head-lost", 3.5, [], "")
    assert (sound.holds, sound.verdict) == (True, "holds")


def test_no_two_faults_have_one_name() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param([[], []], [], id="it holds at once and to the end"),
        pytest.param([[], [BROKEN]], [BROKEN], id="it held, and does no more when the fault ends"),
        pytest.param([[BROKEN], [], []], [], id="it comes to hold"),
    ],
)
def test_finds_what_does_not_hold_to_the_end_of_the_fault(
    found: list[list[Finding]], wanted: list[Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(found)
    monkeypatch.setattr("tests.chaos.rounds.time.sleep", lambda seconds: None)
    assert rounds.held_to_end(lambda checks: next(answers), cast(Checks, None), 0.0) == wanted
