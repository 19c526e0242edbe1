"""The order of the faults, and the text of a round."""

from __future__ import annotations

from itertools import islice
from random import Random

from tests.chaos.checks import CheckKind, Finding
from tests.chaos.faults import FAULTS
from tests.chaos.rounds import Round, deck


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
