"""Renewal and loss of a lease, on every implementation of the lock."""

from __future__ import annotations

from decimal import Decimal

import pytest

from berth.lease.config import ElectionOutcome, LeaderElectionConfig, ReleaseOutcome
from tests.unit.lease.clocks import AT
from tests.unit.lease.contenders import Contender, holder, leading
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import LeaseStore

RENEWED = ElectionOutcome.RENEWED
RENEWAL_FAILED = ElectionOutcome.RENEWAL_FAILED
DEADLINE = ElectionOutcome.RENEW_DEADLINE_EXCEEDED
DEPOSED = ElectionOutcome.DEPOSED


class TestUpstreamRenewal:
    """client-go's cases for the fast path and for coordinated renewal."""

    def test_renews_without_a_read_after_the_acquisition(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        assert [alpha.step_until_due().outcome for _ in range(3)] == [ElectionOutcome.BECAME_LEADER, RENEWED, RENEWED]
        assert alpha.calls() == ["get", "create", "update", "update"]

    def test_renews_with_a_read_after_a_failed_renewal_without_a_read(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        alpha.faults.plan(None, None, None, Fault.THROTTLED)
        outcomes = [alpha.step_until_due().outcome for _ in range(4)]
        assert outcomes == [ElectionOutcome.BECAME_LEADER, RENEWED, RENEWED, RENEWED]
        assert alpha.calls() == ["get", "create", "update", "update", "get", "update", "update"]

    def test_renews_with_a_read_if_another_write_changed_the_version(self, store: LeaseStore) -> None:
        """Another write increased the item's version, but the record is still this leader's."""
        alpha = leading(store)
        store.put({**store.attributes(), "resourceVersion": Decimal(7)})
        assert alpha.step_until_due().outcome is RENEWED
        assert alpha.calls() == ["update", "get", "update"]
        assert store["resourceVersion"] == 8


class TestRenewal:
    def test_continues_own_expired_lease_in_same_epoch(self, store: LeaseStore) -> None:
        alpha = leading(store)
        alpha.clock.advance(100)
        assert alpha.fence() is None
        assert alpha.step() is RENEWED
        assert alpha.calls() == ["get", "update"]
        assert holder(store) == ("alpha", 0)
        assert store["acquireTime"] == Decimal(AT)
        assert alpha.events == [("leader", "alpha"), ("started", 0)]

    @pytest.mark.parametrize("fault", [Fault.LOST, Fault.DELAYED], ids=["committed at once", "committed later"])
    def test_repeats_a_renewal_whose_response_was_lost(self, store: LeaseStore, fault: Fault) -> None:
        alpha = leading(store)
        alpha.faults.plan(fault)
        assert alpha.step_until_due().outcome is RENEWED
        assert alpha.calls() == ["update", "get", "update"]
        before = store.attributes()
        alpha.faults.deliver()
        assert store.attributes() == before
        assert alpha.fence() is not None
        assert alpha.publish() is True

    def test_late_renewal_after_failed_step_is_harmless(self, store: LeaseStore) -> None:
        alpha = leading(store)
        alpha.faults.plan(Fault.DELAYED, Fault.UNREACHABLE)
        assert alpha.step_until_due().outcome is RENEWAL_FAILED
        alpha.faults.deliver()
        assert alpha.step_until_due().outcome is RENEWED
        assert holder(store) == ("alpha", 0)
        assert store["resourceVersion"] == 3

    def test_lease_duration_starts_when_the_renewal_is_sent_not_when_it_is_answered(self, store: LeaseStore) -> None:
        """A successor may have read the renewal as soon as it was sent."""
        alpha = leading(store)
        alpha.clock.advance(2)
        alpha.lock.after_next("update", lambda: alpha.clock.advance(9))
        alpha.step()
        alpha.clock.advance(6)
        assert alpha.fence() is None

    def test_leader_that_was_frozen_does_not_rely_on_its_expired_lease(self, store: LeaseStore) -> None:
        """The monotonic clock stood still, the wall clock jumped, and another candidate became leader."""
        alpha, beta = leading(store), Contender(store, "beta")
        beta.step()
        alpha.clock.freeze(16)
        beta.clock.advance(16)
        assert beta.step() is ElectionOutcome.BECAME_LEADER
        assert alpha.fence() is None
        assert alpha.step() is DEPOSED
        assert alpha.events[-2:] == [("stopped", DEPOSED), ("leader", "beta")]
        assert holder(store) == ("beta", 1)

    @pytest.mark.parametrize(
        ("change", "detail"),
        [
            pytest.param({"holderIdentity": "beta", "leaseTransitions": Decimal(1)}, "beta holds item", id="another"),
            pytest.param({"holderIdentity": ""}, "no candidate holds item", id="blank"),
            pytest.param({"uid": "uid-2"}, "alpha holds item uid-2", id="of a recreated item"),
            pytest.param({"leaseTransitions": Decimal(2)}, "in epoch 2", id="of another epoch"),
        ],
    )
    def test_record_of_another_term_ends_term(self, store: LeaseStore, change: dict[str, object], detail: str) -> None:
        alpha = leading(store)
        store.put({**store.attributes(), "resourceVersion": Decimal(9), **change})
        before = store.attributes()
        step = alpha.step_until_due()
        assert step.outcome is DEPOSED
        assert step.ended
        assert detail in step.detail
        assert alpha.fence() is None
        assert alpha.elector.step() == step
        assert store.attributes() == before

    def test_deleted_item_ends_term_and_leader_does_not_recreate_it(self, store: LeaseStore) -> None:
        alpha = leading(store)
        store.delete()
        step = alpha.step_until_due()
        assert (step.outcome, step.detail) == (DEPOSED, "the head item is gone")
        assert store.attributes() == {}


class TestRenewDeadline:
    @pytest.mark.parametrize("fault", [Fault.UNREACHABLE, Fault.THROTTLED, Fault.TRANSACTION_CONFLICT, Fault.REFUSED])
    def test_leader_that_cannot_renew_stops_at_deadline(self, store: LeaseStore, fault: Fault) -> None:
        alpha = leading(store)
        alpha.faults.always = fault
        outcomes = []
        while (step := alpha.step_until_due()).outcome is RENEWAL_FAILED:
            outcomes.append(alpha.clock.wall() - AT)
            assert alpha.fence() is not None
        assert outcomes == [2, 4, 6, 8]
        assert (step.outcome, alpha.clock.wall() - AT) == (DEADLINE, 10)
        assert step.detail
        assert alpha.fence() is None
        assert alpha.events[-1] == ("stopped", DEADLINE)
        assert holder(store) == ("alpha", 0)

    def test_stops_at_deadline_that_is_not_a_multiple_of_retry_period(self, store: LeaseStore) -> None:
        alpha = leading(store, config=LeaderElectionConfig(15, 9.5, 4))
        alpha.faults.always = Fault.UNREACHABLE
        while not alpha.step_until_due().ended:
            pass
        assert alpha.clock.wall() - AT == 9.5

    def test_one_successful_renewal_extends_the_deadline(self, store: LeaseStore) -> None:
        alpha = leading(store)
        for _ in range(6):
            alpha.faults.plan(*[Fault.THROTTLED] * 6)  # three steps of an update and a get
            outcomes = [alpha.step_until_due().outcome for _ in range(4)]
            assert outcomes == [RENEWAL_FAILED, RENEWAL_FAILED, RENEWAL_FAILED, RENEWED]

    def test_duration_of_a_call_counts_towards_the_deadline(self, store: LeaseStore) -> None:
        alpha = leading(store)
        alpha.faults.always = Fault.UNREACHABLE
        alpha.clock.advance(8)
        alpha.lock.before_next("get", lambda: alpha.clock.advance(2))
        assert alpha.step() is DEADLINE

    def test_leader_that_was_frozen_tries_to_renew_once_before_it_resigns(self, store: LeaseStore) -> None:
        alpha = leading(store)
        alpha.clock.freeze(600)
        alpha.faults.always = Fault.UNREACHABLE
        assert alpha.step() is DEADLINE
        assert alpha.calls() == ["get"]

    def test_leader_can_release_after_the_deadline(self, store: LeaseStore) -> None:
        alpha = leading(store)
        alpha.faults.always = Fault.UNREACHABLE
        while not alpha.step_until_due().ended:
            pass
        alpha.faults.always = None
        assert alpha.release() is ReleaseOutcome.RELEASED
        assert holder(store) == ("", 0)
        assert alpha.events[-2:] == [("stopped", DEADLINE), ("leader", "")]
