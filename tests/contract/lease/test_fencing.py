"""The fence of the node cache's writer: which publications it permits, on every implementation of the lock."""

from __future__ import annotations

from decimal import Decimal

from berth.lease.config import ElectionOutcome
from berth.lease.lock import Fence
from tests.unit.lease.clocks import AT
from tests.unit.lease.contenders import Contender
from tests.unit.lease.stores import LeaseStore


def takes_over(store: LeaseStore, identity: str) -> Contender:
    """Return a successor that has waited until the lease expired and leads."""
    successor = Contender(store, identity)
    successor.step()
    successor.clock.advance(15)
    successor.step()
    assert successor.fence() is not None
    return successor


class TestPublishing:
    def test_publication_renews_the_lease(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        alpha.lead()
        for version in range(1, 10):
            alpha.clock.advance(1)
            assert alpha.publish(version=Decimal(version)) is True
            assert alpha.step() is ElectionOutcome.IDLE
        assert alpha.calls() == ["get", "create"]
        assert store["version"] == 9
        assert store["renewTime"] == Decimal(AT + 9)
        assert store["resourceVersion"] == 10

    def test_idle_leader_sends_heartbeat_after_last_publication(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        alpha.lead()
        alpha.clock.advance(1.5)
        alpha.publish(version=Decimal(1))
        alpha.clock.advance(1.5)
        step = alpha.elector.step()
        assert (step.outcome, step.again_in) == (ElectionOutcome.IDLE, 0.5)
        alpha.clock.advance(0.5)
        assert alpha.step() is ElectionOutcome.RENEWED
        assert alpha.publish(version=Decimal(2)) is True
        assert store["version"] == 2

    def test_lease_duration_starts_when_the_publication_is_sent(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        fence, sent = alpha.lead(), alpha.clock.now()
        alpha.clock.advance(9)
        assert store.publish(fence, {}, renew_time=sent.wall)
        assert alpha.elector.renewed(fence, sent) is not None
        alpha.clock.advance(6)
        assert alpha.fence() is None

    def test_fence_has_holder_epoch_item_and_version(self, store: LeaseStore) -> None:
        fence = Contender(store, "alpha").lead()
        assert fence == Fence("alpha", 0, str(store["uid"]), 1)

    def test_refused_publication_clears_fence_until_record_is_reread(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        alpha.lead()
        store.put({**store.attributes(), "resourceVersion": Decimal(5)})
        assert alpha.publish(version=Decimal(1)) is False
        assert alpha.fence() is None
        assert alpha.step() is ElectionOutcome.RENEWED
        assert alpha.calls() == ["get", "create", "get", "update"]
        assert alpha.publish(version=Decimal(1)) is True

    def test_refusal_after_a_takeover_ends_the_term_with_one_read(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        alpha.lead()
        takes_over(store, "beta")
        assert alpha.publish(version=Decimal(1)) is False
        assert alpha.step() is ElectionOutcome.DEPOSED
        assert alpha.calls() == ["get", "create", "get"]

    def test_ignores_a_refusal_that_concerns_an_older_fence(self, store: LeaseStore) -> None:
        alpha = Contender(store, "alpha")
        fence = alpha.lead()
        alpha.step_until_due()
        alpha.elector.refused(fence)
        assert alpha.fence() is not None
        assert alpha.step() is ElectionOutcome.IDLE

    def test_candidate_that_does_not_lead_does_not_have_a_fence(self, store: LeaseStore) -> None:
        alpha, beta = Contender(store, "alpha"), Contender(store, "beta")
        fence = alpha.lead()
        assert beta.fence() is None
        beta.elector.refused(fence)
        assert beta.elector.renewed(fence, beta.clock.now()) is None
        alpha.release()
        assert alpha.fence() is None
        assert alpha.elector.renewed(fence, alpha.clock.now()) is None

    def test_next_renewal_recognizes_a_publication_with_a_lost_response(self, store: LeaseStore) -> None:
        """The writer does not know whether the publication was written; after a renewal it was, or never will be."""
        alpha = Contender(store, "alpha")
        fence = alpha.lead()
        assert store.publish(fence, {"version": Decimal(1)}, renew_time=AT)
        assert alpha.step_until_due().outcome is ElectionOutcome.RENEWED
        assert store["version"] == 1
        late = alpha.lead()
        assert alpha.step_until_due().outcome is ElectionOutcome.RENEWED
        assert store.publish(late, {"version": Decimal(2)}, renew_time=AT) is False
