"""Contention for a lease, changes of its item, and lost responses, on every implementation of the lock."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from berth.lease.config import ElectionOutcome
from tests.unit.lease.clocks import AT
from tests.unit.lease.contenders import Contender, holder, pass_time
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import LeaseStore, stored_lease

BECAME_LEADER = ElectionOutcome.BECAME_LEADER
HELD = ElectionOutcome.HELD


class TestRaces:
    def test_only_one_of_two_candidates_creates_the_lease(self, store: LeaseStore) -> None:
        alpha, beta = Contender(store, "alpha"), Contender(store, "beta")
        alpha.lock.before_next("create", beta.step)
        assert alpha.step() is ElectionOutcome.LOST_RACE
        assert beta.fence() is not None
        assert holder(store) == ("beta", 0)
        assert alpha.elector.leader == "beta"

    @pytest.mark.parametrize(
        "item", [stored_lease("old", lease_transitions=7), stored_lease("")], ids=["expired", "free"]
    )
    def test_one_of_many_candidates_takes_over_and_increments_transitions(self, store: LeaseStore, item: Any) -> None:
        """Each candidate reads, then lets the next candidate try before it writes: the last to read writes first."""
        store.put(item)
        candidates = [Contender(store, f"candidate-{number}") for number in range(5)]
        if item["holderIdentity"]:
            for candidate in candidates:
                assert candidate.step() is HELD
        pass_time(15, *candidates)
        for candidate, following in pairwise(candidates):
            candidate.lock.before_next("update", following.step)
        candidates[0].step()
        leaders = [candidate for candidate in candidates if candidate.fence() is not None]
        assert [leader.elector.identity for leader in leaders] == ["candidate-4"]
        assert holder(store) == ("candidate-4", item["leaseTransitions"] + 1)
        assert store["resourceVersion"] == 2
        assert {candidate.elector.leader for candidate in candidates} == {"candidate-4"}

    def test_candidate_that_lost_a_race_waits_the_whole_lease_duration(self, store: LeaseStore) -> None:
        alpha, beta = Contender(store, "alpha"), Contender(store, "beta")
        alpha.lock.before_next("create", beta.step)
        alpha.step()
        alpha.clock.advance(14.5)
        assert alpha.step() is HELD
        alpha.clock.advance(2)
        assert alpha.step() is BECAME_LEADER

    def test_lease_duration_starts_when_the_claim_is_sent_not_when_it_is_answered(self, store: LeaseStore) -> None:
        """Other candidates may have read the claim as soon as it was sent."""
        alpha = Contender(store, "alpha")
        alpha.lock.after_next("create", lambda: alpha.clock.advance(9))
        assert alpha.step() is BECAME_LEADER
        alpha.clock.advance(6)
        assert alpha.fence() is None


class TestItem:
    def test_creates_item_that_was_deleted_during_the_wait(self, store: LeaseStore) -> None:
        store.put(stored_lease("alpha", lease_transitions=3))
        beta = Contender(store, "beta")
        beta.step()
        store.delete()
        beta.clock.advance(2)
        assert beta.step() is BECAME_LEADER
        assert holder(store) == ("beta", 0)
        assert store["uid"] != "uid-1"

    def test_candidates_do_not_take_over_a_malformed_record(self, store: LeaseStore) -> None:
        store.put({**stored_lease("alpha"), "leaseDurationSeconds": "fifteen"})
        beta = Contender(store, "beta")
        step = beta.step_until_due()
        assert step.outcome is ElectionOutcome.UNAVAILABLE
        assert "leaseDurationSeconds is fifteen" in step.detail
        beta.clock.advance(60)
        assert beta.step() is ElectionOutcome.UNAVAILABLE
        assert store["holderIdentity"] == "alpha"


class TestLostAnswers:
    """A claim is committed and its response lost. Identities are unique, so the next read shows the result."""

    @pytest.mark.parametrize("fault", [Fault.LOST, Fault.DELAYED], ids=["committed at once", "committed later"])
    @pytest.mark.parametrize(
        ("item", "epoch"),
        [
            pytest.param(None, 0, id="create"),
            pytest.param(stored_lease("", lease_transitions=4), 5, id="takeover of a released lease"),
            pytest.param({"version": 1}, 1, id="first record of an item"),
        ],
    )
    def test_recognizes_claim_with_lost_response(self, store: LeaseStore, item: Any, epoch: int, fault: Fault) -> None:
        if item is not None:
            store.put(item)
        beta = Contender(store, "beta")
        beta.faults.plan(None, fault)
        assert beta.step() is ElectionOutcome.UNAVAILABLE
        assert beta.fence() is None
        beta.faults.deliver()
        assert holder(store) == ("beta", epoch)
        beta.clock.advance(2)
        assert beta.step() is BECAME_LEADER
        assert holder(store) == ("beta", epoch)
        assert store["acquireTime"] == Decimal(AT)
        assert beta.events == [("leader", "beta"), ("started", epoch)]

    def test_recognizes_its_takeover_after_a_lost_response(self, store: LeaseStore) -> None:
        store.put(stored_lease("alpha"))
        beta = Contender(store, "beta")
        beta.step()
        beta.clock.advance(15)
        beta.faults.plan(None, Fault.LOST)
        assert beta.step() is ElectionOutcome.UNAVAILABLE
        beta.clock.advance(2)
        assert beta.step() is BECAME_LEADER
        assert holder(store) == ("beta", 1)

    @pytest.mark.parametrize("fault", [Fault.UNREACHABLE, Fault.THROTTLED, Fault.TRANSACTION_CONFLICT, Fault.REFUSED])
    @pytest.mark.parametrize("succeeding", [0, 1], ids=["the read fails", "the write fails"])
    def test_failed_call_is_retried_in_the_next_step(self, store: LeaseStore, succeeding: int, fault: Fault) -> None:
        beta = Contender(store, "beta")
        beta.faults.plan(*[None] * succeeding, fault)
        step = beta.step_until_due()
        assert step.outcome is ElectionOutcome.UNAVAILABLE
        assert step.detail
        assert store.attributes() == {}
        assert beta.step_until_due().outcome is BECAME_LEADER
        assert holder(store) == ("beta", 0)
