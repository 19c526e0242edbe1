"""Release of a lease, and writes that a paused leader can no longer make, on every implementation of the lock."""

from __future__ import annotations

from decimal import Decimal

import pytest

from berth.lease.config import ElectionOutcome, Handover, ReleaseOutcome
from berth.lease.elector import run
from tests.unit.lease.clocks import AT
from tests.unit.lease.contenders import Contender, holder, leading, pass_time
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import LeaseStore, stored_lease

HELD = ElectionOutcome.HELD
NOT_NEEDED = ElectionOutcome.NOT_NEEDED
BECAME_LEADER = ElectionOutcome.BECAME_LEADER


class TestUpstreamRelease:
    """client-go's cases for release, and for release on cancel."""

    def test_releases_lease_that_was_created(self, store: LeaseStore) -> None:
        baz = Contender(store, "baz")
        baz.step()
        baz.clock.advance(1)
        assert baz.release() is ReleaseOutcome.RELEASED
        assert baz.calls() == ["get", "create", "get", "update"]
        attributes = store.attributes()
        assert attributes.pop("nonce")
        assert attributes.pop("uid")
        assert attributes == {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": Decimal(AT + 1),
            "renewTime": Decimal(AT + 1),
            "leaseTransitions": 0,
            "resourceVersion": 2,
        }
        assert baz.elector.leader == ""
        assert baz.events == [("leader", "baz"), ("started", 0), ("stopped", ElectionOutcome.RELEASED), ("leader", "")]

    def test_reads_version_before_release(self, store: LeaseStore) -> None:
        alpha = leading(store)
        store.put({**store.attributes(), "resourceVersion": Decimal(7)})
        assert alpha.release() is ReleaseOutcome.RELEASED
        assert alpha.calls() == ["get", "update"]
        assert store["resourceVersion"] == 8

    def test_does_not_write_if_the_item_is_missing(self, store: LeaseStore) -> None:
        alpha = leading(store)
        store.delete()
        assert alpha.release() is ReleaseOutcome.NOT_HELD
        assert store.attributes() == {}

    @pytest.mark.parametrize(
        "faults",
        [
            pytest.param([Fault.THROTTLED, None, Fault.THROTTLED], id="update fails"),
            pytest.param([Fault.THROTTLED, Fault.THROTTLED], id="get fails"),
        ],
    )
    def test_cancelled_leader_releases_if_renewals_fail(self, store: LeaseStore, faults: list[Fault | None]) -> None:
        """The fast path fails, then the update or the get of the slow path; meanwhile the leader is stopped."""
        baz = Contender(store, "baz")
        waits: list[float] = []

        def wait(seconds: float) -> bool:
            waits.append(seconds)
            baz.clock.advance(seconds)
            if len(waits) == 1:
                baz.faults.plan(*faults)
            return len(waits) == 2

        assert run(baz.elector, wait).outcome is ElectionOutcome.RELEASED
        slow = ["get", "update"][: len(faults) - 1]
        assert baz.calls() == ["get", "create", "update", *slow, "get", "update"]
        assert holder(store) == ("", 0)
        assert [event for event, _ in baz.events] == ["leader", "started", "stopped", "leader"]


class TestRelease:
    def test_waiting_successor_takes_over_a_released_lease_immediately(self, store: LeaseStore) -> None:
        alpha, beta = leading(store), Contender(store, "beta")
        assert beta.step() is HELD
        alpha.release()
        beta.clock.advance(2)
        assert beta.step() is BECAME_LEADER
        assert holder(store) == ("beta", 1)

    def test_work_stops_before_release(self, store: LeaseStore) -> None:
        alpha = leading(store)
        alpha.lock.before_next("update", lambda: alpha.events.append(("freed", alpha.fence())))
        alpha.release()
        assert alpha.events[-3:] == [("stopped", ElectionOutcome.RELEASED), ("freed", None), ("leader", "")]

    def test_late_release_does_not_remove_the_successor(self, store: LeaseStore) -> None:
        """client-go would free the successor's lease: it reads the version again, but uses the holder it remembers."""
        alpha, beta = leading(store), Contender(store, "beta")
        beta.step()
        beta.clock.advance(15)
        beta.step()
        before = store.attributes()
        assert alpha.release() is ReleaseOutcome.NOT_HELD
        assert store.attributes() == before
        assert beta.step_until_due().outcome is ElectionOutcome.RENEWED

    def test_release_does_not_remove_a_successor_that_writes_after_the_read(self, store: LeaseStore) -> None:
        alpha, beta = leading(store), Contender(store, "beta")
        beta.step()
        beta.clock.advance(15)
        alpha.lock.before_next("update", beta.step)
        assert alpha.release() is ReleaseOutcome.UNKNOWN
        assert holder(store) == ("beta", 1)
        assert alpha.release() is ReleaseOutcome.NOT_HELD

    @pytest.mark.parametrize("fault", [Fault.LOST, Fault.DELAYED], ids=["committed at once", "committed later"])
    def test_repeated_release_after_a_lost_response_finds_the_lease_free(self, store: LeaseStore, fault: Fault) -> None:
        alpha = leading(store)
        alpha.faults.plan(None, fault)
        assert alpha.release() is ReleaseOutcome.UNKNOWN
        alpha.faults.deliver()
        assert alpha.release() is ReleaseOutcome.NOT_HELD
        assert holder(store) == ("", 0)

    @pytest.mark.parametrize("succeeding", [0, 1], ids=["the read fails", "the write fails"])
    def test_failed_release_can_be_repeated(self, store: LeaseStore, succeeding: int) -> None:
        alpha = leading(store)
        alpha.faults.plan(*[None] * succeeding, Fault.THROTTLED)
        assert alpha.release() is ReleaseOutcome.UNKNOWN
        assert alpha.fence() is None
        assert alpha.release() is ReleaseOutcome.RELEASED
        assert alpha.release() is ReleaseOutcome.RELEASED
        assert alpha.calls()[-2:] == ["get", "update"]
        assert [event for event, _ in alpha.events].count("stopped") == 1

    def test_candidate_without_claim_does_not_call_the_table(self, store: LeaseStore) -> None:
        store.put(stored_lease("alpha"))
        beta = Contender(store, "beta")
        beta.step()
        assert beta.release() is ReleaseOutcome.NOT_HELD
        assert beta.calls() == ["get"]
        assert beta.elector.step().outcome is ElectionOutcome.RELEASED
        assert beta.events == [("leader", "alpha")]

    def test_candidate_releases_claim_with_lost_response(self, store: LeaseStore) -> None:
        beta = Contender(store, "beta")
        beta.faults.plan(None, Fault.LOST)
        beta.step()
        assert beta.release() is ReleaseOutcome.RELEASED
        assert holder(store) == ("", 0)


class TestHandOver:
    """A leader whose time is limited, and candidates started by a schedule."""

    @pytest.mark.parametrize(
        ("handover_at", "horizon", "outcome"),
        [
            pytest.param(AT + 600, 120, NOT_NEEDED, id="distant: not needed"),
            pytest.param(AT + 120.5, 120, NOT_NEEDED, id="just beyond the horizon: not needed"),
            pytest.param(AT + 120, 120, HELD, id="at the horizon: waits"),
            pytest.param(AT + 5, 120, HELD, id="near: waits"),
            pytest.param(AT - 5, 120, HELD, id="overdue: waits"),
            pytest.param(None, 120, NOT_NEEDED, id="none announced: not needed"),
            pytest.param(AT + 600, float("inf"), HELD, id="a standby always waits"),
        ],
    )
    def test_candidate_ends_unless_a_handover_is_announced_within_its_horizon(
        self, store: LeaseStore, handover_at: float | None, horizon: float, outcome: ElectionOutcome
    ) -> None:
        leading(store, handover=Handover(at=handover_at))
        beta = Contender(store, "beta", handover=Handover(horizon=horizon))
        step = beta.elector.step()
        assert (step.outcome, step.ended) == (outcome, outcome is NOT_NEEDED)
        assert beta.calls() == ["get"]

    @pytest.mark.parametrize("age", [5.0, 60.0, -60.0], ids=["5 s old", "a minute old", "from the future"])
    def test_candidate_waits_for_expiry_when_renewals_stop(self, store: LeaseStore, age: float) -> None:
        store.put(stored_lease("alpha", renew_time=AT - age, handover_at=AT + 800))
        beta = Contender(store, "beta", handover=Handover(horizon=120))
        while (step := beta.step_until_due()).outcome is HELD:
            assert not step.ended
        assert step.outcome is BECAME_LEADER
        assert 15 <= beta.clock.wall() - AT <= 15 + 4.4

    @pytest.mark.parametrize("off", [60.0, -60.0], ids=["behind", "ahead"])
    def test_recognizes_leader_with_skewed_clock_by_its_next_renewal(self, store: LeaseStore, off: float) -> None:
        alpha = Contender(store, "alpha", handover=Handover(at=AT + off + 800))
        alpha.clock.set_wall(off)
        alpha.lead()
        beta = Contender(store, "beta", handover=Handover(horizon=120))
        assert beta.step() is HELD
        pass_time(2, alpha, beta)
        alpha.step()
        assert beta.step() is NOT_NEEDED

    def test_successor_takes_over_within_a_second_of_release(self, store: LeaseStore) -> None:
        alpha, beta = leading(store, handover=Handover(at=AT + 20)), Contender(store, "beta", random=lambda: 0.99)
        reads = 0
        while beta.fence() is None:
            pass_time(0.25, alpha, beta)
            if alpha.fence() is not None and alpha.elector.handover_in <= 0:
                alpha.release()
            alpha.step()
            reads += beta.step() is not ElectionOutcome.IDLE
        assert 20 <= beta.clock.wall() - AT <= 20.75
        assert reads <= 14  # one read every 4.4 seconds, and two reads a second at the end

    def test_renewals_and_publications_keep_the_announced_handover(self, store: LeaseStore) -> None:
        alpha = leading(store, handover=Handover(at=AT + 60))
        alpha.publish(version=Decimal(1))
        alpha.step_until_due()
        assert store["handoverAt"] == Decimal(AT + 60)
        alpha.release()
        assert "handoverAt" not in store.attributes()
