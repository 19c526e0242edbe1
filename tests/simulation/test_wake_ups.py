"""A waiting pod that fits is tried again, however changes, publications, binds, deletions and hand-overs interleave."""

from __future__ import annotations

import pytest

from .broken import Break, fails
from .wake_ups.broken import BROKEN
from .wake_ups.history import Plan, WakeUpHistory

pytestmark = pytest.mark.long

HISTORIES = 60
PER_TEST = 20
UNTIL_CAUGHT = 200
CAUGHT_LATE = {"late_rejection_within_two_seconds": 139, "list_shows_everything": 158}
"""Seeds that are tried first, because a search from seed 0 takes long."""


@pytest.mark.parametrize("first", range(0, HISTORIES, PER_TEST))
def test_every_waiting_pod_that_fits_is_woken(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        WakeUpHistory(Plan.drawn(seed)).run()


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_simulation_fails_if_a_wake_up_lacks_a_rule(name: str, broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    seeds = [*([CAUGHT_LATE[name]] if name in CAUGHT_LATE else []), *range(UNTIL_CAUGHT)]
    assert any(fails(WakeUpHistory(Plan.drawn(seed)).run) for seed in seeds)
