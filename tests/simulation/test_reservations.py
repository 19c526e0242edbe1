"""Guarantees of the ledger in histories drawn from seeds, and a check that the simulation detects violations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .broken import Break, fails
from .reservations.broken_reservations import BROKEN
from .reservations.ledger_histories import ReservationsHistory
from .reservations.ledger_scenarios import SCENARIOS

pytestmark = pytest.mark.long

HISTORIES = 20
PER_TEST = 10
UNTIL_CAUGHT = 5


@pytest.mark.parametrize("first", range(0, HISTORIES, PER_TEST))
def test_never_allocates_an_amount_twice_and_releases_every_amount(first: int) -> None:
    bound = 0
    for seed in range(first, first + PER_TEST):
        history = ReservationsHistory(seed)
        history.run()
        bound += history.bound
    assert bound > PER_TEST


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_invariants_hold_in_rare_interleavings(scenario: Callable[[], None]) -> None:
    scenario()


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_simulation_fails_if_the_watcher_lacks_a_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    histories = (ReservationsHistory(seed).run for seed in range(UNTIL_CAUGHT))
    assert any(fails(play) for play in (*SCENARIOS, *histories))
