"""Guarantees of the ledger in histories drawn from seeds, and a check that the simulation detects violations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.upkeep.reconciler.published_pods import PublishedPods

from .broken import Break, fails
from .reservations import broken_owners, broken_reservations
from .reservations.floating_histories import FloatingHistory
from .reservations.hostile_reservations import HostileHistory
from .reservations.ledger_histories import ReservationsHistory
from .reservations.ledger_scenarios import SCENARIOS

pytestmark = pytest.mark.long

HOSTILE = (range(12), range(36, 48))
"""Ranges of seeds. In each range, some history shows an entry with two devices, as about one history in six does."""

FLOATING = (range(6), range(6, 12))
LATE_BINDINGS = (46, 48)
"""Histories in which a Binding arrives after the reservation's expiry, and the pool is full by then."""


@pytest.mark.parametrize("seeds", [range(10), range(10, 20)], ids=str)
def test_never_allocates_an_amount_twice_and_releases_every_amount(seeds: range) -> None:
    histories = [*map(ReservationsHistory, seeds)]
    for history in histories:
        history.run()
    assert sum(history.bound for history in histories) > len(seeds)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_invariants_hold_in_rare_interleavings(scenario: Callable[[], None]) -> None:
    scenario()


@pytest.mark.parametrize("broken", broken_reservations.BROKEN.values(), ids=broken_reservations.BROKEN)
def test_simulation_fails_if_the_watcher_lacks_a_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(fails(play) for play in (*SCENARIOS, *(ReservationsHistory(seed).run for seed in range(5))))


@pytest.mark.parametrize("seeds", HOSTILE, ids=str)
def test_never_overcommits_for_any_edit_by_owners_and_creators_of_pods(seeds: range) -> None:
    histories = [*map(HostileHistory, seeds)]
    for history in histories:
        history.run()
    assert sum(history.bound for history in histories) > 10 * len(seeds)
    assert sum(history.edits for history in histories) > 100 * len(seeds)
    assert sum(history.hand_overs for history in histories) > 10 * len(seeds)
    assert any(history.surplus for history in histories), "no entry had two devices"
    assert any(history.hidden for history in histories), "no creator hid a request"


@pytest.mark.parametrize("broken", broken_owners.BROKEN.values(), ids=broken_owners.BROKEN)
def test_simulation_fails_if_the_ledger_lacks_an_owner_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(fails(HostileHistory(seed).run) for seeds in HOSTILE for seed in seeds)


@pytest.mark.parametrize("seeds", FLOATING, ids=str)
def test_never_allocates_units_of_a_floating_pool_twice_and_releases_every_unit(seeds: range) -> None:
    histories = [*map(FloatingHistory, seeds)]
    for history in histories:
        history.run()
    assert sum(history.bound for history in histories) > 10 * len(seeds)


def pods_are_only_on_their_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the watcher treat a pod that holds units of a pool as a pod on another node."""
    monkeypatch.setattr(PublishedPods, "_is_at", lambda self, namespace, node, owner: node == owner)


@pytest.mark.parametrize("broken", [broken_reservations.expiry_by_age_alone, pods_are_only_on_their_node])
def test_simulation_fails_if_the_ledger_lacks_a_pool_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(fails(FloatingHistory(seed).run) for seeds in (*FLOATING, LATE_BINDINGS) for seed in seeds)
