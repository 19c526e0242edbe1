"""bind, the ledger and expiry with one rule left out: the simulation must notice each variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from berth.bind.protocol import PreparedBind
from berth.bind.share import Reservation, Reservations
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.nodes import ledger as ledgers
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger, Reserved
from berth.ledger.nodes.node_write import PoolChange
from berth.pods import Binding, Created, FoundPod, Refused, Unanswered
from berth.scheduling.managed_resources.pools import Shares
from berth.upkeep.reconciler.expiry import Expiry
from tests.fakes.pods import PodsInMemory
from tests.simulation.broken import functions_of

from .binds import EPOCH, BindWorld


def no_condition_on_avail(monkeypatch: pytest.MonkeyPatch) -> None:
    def reserve_changes(held: Shares, wanted: Shares) -> dict[str, PoolChange]:
        return {pool: PoolChange(avail=held.get(pool, 0) - amount) for pool, amount in wanted.items()}

    monkeypatch.setattr(ledgers, "reserve_changes", reserve_changes)


def expiry_by_age_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expiry, "invalidate_bindings", lambda self, pod: None)


def confirmed_on_the_word_of_the_open_reservation(monkeypatch: pytest.MonkeyPatch) -> None:
    publish = BindWorld.publish

    def confirm_all(world: BindWorld) -> None:
        for reservation in world.table.open_reservations():
            found = world.table.node(reservation.node)
            entry = None if found is None else found.entries.get(reservation.pod.uid)
            if found is not None and entry is not None:
                bound = replace(entry, state=EntryState.BOUND)
                Ledger(world.table).put_bound(found, bound, epoch=EPOCH)
        publish(world)

    monkeypatch.setattr(BindWorld, "publish", confirm_all)


def not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expires the reservation of an unbound pod whose Binding is on its way."""
    expire = Expiry.expire

    def without_touch(self: Expiry, reservation: OpenReservation) -> object:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(PodsInMemory, "_next", lambda pods: pods._version)
            return expire(self, reservation)

    monkeypatch.setattr(Expiry, "expire", without_touch)


def binding_without_resource_version(monkeypatch: pytest.MonkeyPatch) -> None:
    create = PodsInMemory.create_binding

    def careless(self: PodsInMemory, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        return create(self, replace(binding, resource_version=""), timeout)

    monkeypatch.setattr(PodsInMemory, "create_binding", careless)


def taken_over_without_a_new_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = Ledger.reserve

    def same_attempt(
        self: Ledger, wanted: Mapping[str, Entry], seen: Mapping[str, Entry], opened: OpenReservation | None = None
    ) -> Reserved:
        attempts = {owner: seen.get(owner, entry).attempt for owner, entry in wanted.items()}
        kept = {owner: replace(entry, attempt=attempts[owner]) for owner, entry in wanted.items()}
        return reserve(self, kept, seen, opened)

    monkeypatch.setattr(Ledger, "reserve", same_attempt)


def released_by_who_took_it_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases the entry after its Binding was refused, while the previous attempt's Binding is on its way."""
    reserve = Reservations.reserve

    def always_first(self: Reservations, *arguments: object) -> Reservation | BindResult:
        reserved = reserve(self, *arguments)  # type: ignore[arg-type]
        return replace(reserved, is_first_attempt=True) if isinstance(reserved, Reservation) else reserved

    monkeypatch.setattr(Reservations, "reserve", always_first)


def given_up_with_the_pod_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats an unanswered Binding as refused."""
    create_binding = PreparedBind._create_binding

    def hasty(self: PreparedBind, pod: FoundPod, reservation: Reservation) -> BindResult:
        result = create_binding(self, pod, reservation)
        if result.outcome in (BindOutcome.UNANSWERED, BindOutcome.CONTENDED):
            self._release_pod()
        return result

    monkeypatch.setattr(PreparedBind, "_create_binding", hasty)


BROKEN = functions_of(globals(), "monkeypatch")
