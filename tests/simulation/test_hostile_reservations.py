"""Nothing is reserved twice for any edits by owners and creators of pods; and the simulation detects a missing rule."""

from __future__ import annotations

import pytest

from .broken import Break, fails
from .reservations.broken_owners import BROKEN
from .reservations.hostile_reservations import HostileHistory

pytestmark = pytest.mark.long

PER_TEST = 12
FIRST = (0, 36)
"""The first histories of each test: in both an entry has two devices, which about one history of six shows."""


@pytest.mark.parametrize("first", FIRST)
def test_never_overcommits_and_keeps_the_reservations_of_running_pods(first: int) -> None:
    histories = [HostileHistory(seed) for seed in range(first, first + PER_TEST)]
    for history in histories:
        history.run()
    assert sum(history.bound for history in histories) > 10 * PER_TEST
    assert sum(history.edits for history in histories) > 100 * PER_TEST
    assert sum(history.hand_overs for history in histories) > 10 * PER_TEST
    assert any(history.surplus for history in histories), "no entry had two devices"
    assert any(history.hidden for history in histories), "no creator hid a request"


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_simulation_fails_if_the_ledger_lacks_an_owner_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(fails(HostileHistory(first + number).run) for first in FIRST for number in range(PER_TEST))
