"""Nothing of a floating pool is given twice, and everything is released; and the simulation detects a missing rule."""

from __future__ import annotations

import pytest

from berth.upkeep.reconciler.published_pods import PublishedPods

from .broken import Break, fails
from .reservations.broken_reservations import expiry_by_age_alone
from .reservations.floating_histories import FloatingHistory

pytestmark = pytest.mark.long

HISTORIES = 12
PER_TEST = 6
LATE_BINDINGS = (46, 48)
"""Histories in which a Binding arrives after the reservation's expiry, and the pool is full by then."""


@pytest.mark.parametrize("first", range(0, HISTORIES, PER_TEST))
def test_never_allocates_units_of_a_floating_pool_twice_and_releases_every_unit(first: int) -> None:
    histories = [FloatingHistory(seed) for seed in range(first, first + PER_TEST)]
    for history in histories:
        history.run()
    assert sum(history.bound for history in histories) > 10 * PER_TEST


def pods_are_only_on_their_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher takes a pod of a pool for one that is elsewhere."""
    monkeypatch.setattr(PublishedPods, "_is_at", lambda self, namespace, node, owner: node == owner)


@pytest.mark.parametrize("broken", [expiry_by_age_alone, pods_are_only_on_their_node])
def test_simulation_fails_if_the_ledger_lacks_a_pool_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(fails(FloatingHistory(seed).run) for seed in (*range(HISTORIES), *LATE_BINDINGS))
