"""What the cache promises, in histories drawn from seeds; and that the simulation would notice if it did not."""

from __future__ import annotations

import pytest

from berth.nodecache.feed import writer
from tests.simulation.broken_variants import BROKEN, Break
from tests.simulation.history import History, Plan
from tests.simulation.table import Faults

HISTORIES = 40
PER_TEST = 10
UNTIL_CAUGHT = 60


def harsh() -> Faults:
    """One write in five comes late."""
    return Faults(throttled=0.03, lost=0.03, late=0.2, stale=0.1)


@pytest.fixture(autouse=True)
def _compacts_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "LEAST_LOG_BYTES", 200)


@pytest.mark.parametrize("first", range(0, HISTORIES, PER_TEST))
def test_readers_miss_nothing_and_deposed_leaders_publish_nothing(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        History(Plan(seed)).run()
        History(Plan(seed, faults=harsh())).run()


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_protocol_without_one_of_its_rules_is_caught(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(_is_caught(seed) for seed in range(UNTIL_CAUGHT))


def _is_caught(seed: int) -> bool:
    try:
        History(Plan(seed, faults=harsh())).run()
    except AssertionError:
        return True
    return False
