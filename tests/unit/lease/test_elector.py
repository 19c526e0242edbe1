"""The elector: when its next step is due, its callbacks, its runs, and standbys of the watcher."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from berth.lease.config import BecameLeader, ElectionOutcome, Handover, LeaderCallbacks, LeaderElectionConfig
from berth.lease.elector import LeaderElector, Standby, new_identity, run
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.unit.lease.clocks import AT, EnvironmentClock
from tests.unit.lease.contenders import Contender, holder
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import InMemoryStore, stored_lease


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def test_rejects_a_candidate_with_an_empty_identity(store: InMemoryStore) -> None:
    with pytest.raises(ValueError, match="identity must not be empty"):
        Contender(store, "")


@pytest.mark.parametrize(("random", "wait"), [(0.0, 2.0), (0.5, 3.2), (1.0, 4.4)])
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(None, ElectionOutcome.HELD), (Fault.THROTTLED, ElectionOutcome.UNAVAILABLE)],
    ids=["held", "unavailable"],
)
def test_candidate_retries_after_retry_period_with_jitter(
    store: InMemoryStore, random: float, wait: float, fault: Fault | None, outcome: ElectionOutcome
) -> None:
    store.put(stored_lease("alpha"))
    beta = Contender(store, "beta", random=lambda: random)
    beta.faults.plan(fault)
    step = beta.elector.step()
    assert step.outcome is outcome
    assert step.again_in == pytest.approx(wait)


def test_candidate_that_lost_a_race_retries_with_jitter(store: InMemoryStore) -> None:
    alpha, beta = Contender(store, "alpha", random=lambda: 0.5), Contender(store, "beta")
    alpha.lock.before_next("create", beta.step)
    step = alpha.elector.step()
    assert step.outcome is ElectionOutcome.LOST_RACE
    assert step.again_in == pytest.approx(3.2)


@pytest.mark.parametrize(
    ("ahead", "wait"),
    [
        pytest.param(100, 4.4, id="far"),
        pytest.param(8.3, 4.4, id="still after the next step"),
        pytest.param(6.4, 2.5, id="before the next step"),
        pytest.param(4.4, 0.5, id="possibly now because the record may be old"),
        pytest.param(-15, 0.5, id="overdue"),
        pytest.param(-16, 4.4, id="overdue for longer than a lease"),
    ],
)
def test_candidate_polls_faster_near_an_announced_release(store: InMemoryStore, ahead: float, wait: float) -> None:
    store.put(stored_lease("alpha", handover_at=AT + ahead))
    beta = Contender(store, "beta", random=lambda: 1.0)
    assert beta.elector.step().again_in == pytest.approx(wait, abs=1e-5)


def test_step_before_its_time_does_not_call_the_table(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")
    alpha.lead()
    alpha.calls()
    alpha.clock.advance(1.5)
    assert alpha.elector.step() == alpha.elector.step()
    assert alpha.elector.step().again_in == 0.5
    assert alpha.calls() == []


def test_step_that_is_early_because_of_rounding_still_runs(store: InMemoryStore) -> None:
    """Sums of a large time and a small time are not exact: a caller that waited long enough can seem early."""
    store.put(stored_lease("alpha"))
    beta = Contender(store, "beta", random=lambda: 0.1)
    beta.clock.advance(beta.elector.step().again_in - 1e-6)
    assert beta.step() is ElectionOutcome.HELD


def test_next_step_of_a_frozen_candidate_is_due_by_wall_clock(store: InMemoryStore) -> None:
    store.put(stored_lease("alpha"))
    beta = Contender(store, "beta")
    beta.step()
    beta.clock.freeze(60)
    assert beta.step() is ElectionOutcome.HELD


def test_reports_each_holder_once(store: InMemoryStore) -> None:
    gamma = Contender(store, "gamma")
    for identity in ("alpha", "alpha", "beta", "", "beta"):
        store.put(stored_lease(identity, renew_time=gamma.clock.wall()) if identity else stored_lease("delta"))
        gamma.step()
        gamma.clock.advance(2)
    assert gamma.events == [("leader", "alpha"), ("leader", "beta"), ("leader", "delta"), ("leader", "beta")]
    assert gamma.elector.leader == "beta"


def test_describes_each_outcome_for_the_log(store: InMemoryStore) -> None:
    store.put(stored_lease("alpha", lease_transitions=4))
    said: list[BecameLeader] = []
    clock = EnvironmentClock()
    elector = LeaderElector(
        store.lock(), LeaderElectionConfig(), "beta", clock, lambda: 0.0, LeaderCallbacks(started_leading=said.append)
    )
    while elector.fence() is None:
        step = elector.step()
        clock.advance(step.again_in)
    assert said == [BecameLeader("beta", 5, "alpha", 16.0)]
    assert str(said[0]) == "beta became leader after alpha in epoch 5, having waited 16.0 s"
    assert step.detail == str(said[0])


def test_callbacks_see_the_new_state_of_the_elector(store: InMemoryStore) -> None:
    fences: list[bool] = []
    elector = LeaderElector(
        store.lock(),
        LeaderElectionConfig(),
        "alpha",
        EnvironmentClock(),
        lambda: 0.0,
        LeaderCallbacks(
            started_leading=lambda _: fences.append(elector.fence() is not None),
            stopped_leading=lambda _: fences.append(elector.fence() is not None),
            new_leader=lambda leader: fences.append((elector.fence() is not None) == bool(leader)),
        ),
    )
    elector.step()
    elector.release()
    assert fences == [True, True, False, True]


def test_leader_can_release_after_a_failed_callback(store: InMemoryStore) -> None:
    def fail(_: BecameLeader) -> None:
        raise RuntimeError("no")

    elector = LeaderElector(
        store.lock(), LeaderElectionConfig(), "alpha", EnvironmentClock(), lambda: 0.0, LeaderCallbacks(fail)
    )
    with pytest.raises(RuntimeError, match="no"):
        elector.step()
    assert elector.fence() is not None
    assert elector.release() == "released"


def test_announced_handover_counts_down_while_leading(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha", handover=Handover(at=AT + 60))
    assert alpha.elector.handover_in == float("inf")
    alpha.lead()
    alpha.clock.advance(20)
    assert alpha.elector.handover_in == 40
    alpha.clock.freeze(600)
    assert alpha.elector.handover_in == 0
    alpha.release()
    assert alpha.elector.handover_in == float("inf")


def waiting(contender: Contender, stop_after: int) -> Callable[[float], bool]:
    """Return a wait that advances the clock, and stops after this number of waits."""
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        assert seconds > 0
        contender.clock.advance(seconds)
        waits.append(seconds)
        return len(waits) == stop_after

    return wait


def test_leads_until_stopped_and_releases(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")
    assert run(alpha.elector, waiting(alpha, 50)).outcome is ElectionOutcome.RELEASED
    assert alpha.clock.wall() - AT == 100
    assert holder(store) == ("", 0)
    assert alpha.calls() == ["get", "create", *["update"] * 49, "get", "update"]


def test_leader_hands_over_at_the_announced_time(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha", handover=Handover(at=AT + 7))
    assert run(alpha.elector, waiting(alpha, -1)).outcome is ElectionOutcome.RELEASED
    assert alpha.clock.wall() - AT == 7
    assert holder(store) == ("", 0)


def test_candidate_ends_if_it_is_not_needed(store: InMemoryStore) -> None:
    store.put(stored_lease("bing"))
    alpha = Contender(store, "alpha", handover=Handover(horizon=120))
    assert run(alpha.elector, waiting(alpha, -1)).outcome is ElectionOutcome.NOT_NEEDED
    assert alpha.calls() == ["get"]


def test_leader_releases_the_lease_if_the_work_fails(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")

    def fail(_: float) -> bool:
        raise RuntimeError("work")

    with pytest.raises(RuntimeError, match="work"):
        run(alpha.elector, fail)
    assert holder(store) == ("", 0)


def test_repeats_a_failed_release_once(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")
    alpha.faults.plan(None, None, Fault.THROTTLED)
    run(alpha.elector, waiting(alpha, 1))
    assert alpha.calls() == ["get", "create", "get", "get", "update"]
    assert holder(store) == ("", 0)


def test_leader_whose_publications_renew_the_lease_keeps_working(store: InMemoryStore) -> None:
    """Publications are more frequent than renewals would be, so the elector does not renew the lease itself."""
    alpha = Contender(store, "alpha")
    published: list[bool] = []

    def work(_: float) -> bool:
        alpha.clock.advance(0.5)
        published.append(alpha.publish())
        return len(published) == 100

    run(alpha.elector, work)
    assert all(published)
    assert alpha.calls() == ["get", "create", "get", "update"]


def test_generated_identities_are_unique() -> None:
    identities = {new_identity("watcher") for _ in range(100)}
    assert len(identities) == 100
    assert all(identity.startswith("watcher_") for identity in identities)


RUN_SECONDS = 870.0
HORIZON_SECONDS = 180.0


class Starts:
    """Starts of the watcher, each with a run time of its own; all compete for one lease."""

    def __init__(self) -> None:
        self.clock = EnvironmentClock()
        self.item = InMemoryItem()
        self._names = count(1)

    def start(self) -> Standby:
        name = f"watcher-{next(self._names)}"
        lock = InMemoryLeaseLock(self.item, lambda: name)
        handover = Handover(self.clock.wall() + RUN_SECONDS, HORIZON_SECONDS)
        return Standby(LeaderElector(lock, LeaderElectionConfig(), name, self.clock, lambda: 0.0, None, handover))

    def takes_place(self, standby: Standby, within: float = 1000.0) -> bool:
        until = self.clock.wall() + within
        return standby.acquire(self.clock.advance, lambda: self.clock.wall() > until)

    def keep(self, standby: Standby, seconds: float) -> bool:
        for _ in range(int(seconds)):
            self.clock.advance(1.0)
            if not standby.renew():
                return False
        return True


def test_first_standby_takes_the_lease_and_the_next_is_not_needed() -> None:
    starts = Starts()
    began = starts.clock.wall()
    assert starts.takes_place(starts.start())
    assert not starts.takes_place(starts.start())
    assert starts.clock.wall() == began


def test_takes_the_lease_of_a_crashed_standby_after_its_expiry() -> None:
    starts = Starts()
    assert starts.takes_place(starts.start())
    starts.clock.advance(60)
    began = starts.clock.wall()
    assert starts.takes_place(starts.start())
    assert 15 <= starts.clock.wall() - began <= 20


def test_frozen_standby_detects_that_it_lost_the_lease() -> None:
    starts = Starts()
    first, second = starts.start(), starts.start()
    assert starts.takes_place(first)
    starts.clock.advance(20)
    assert starts.takes_place(second)
    assert not starts.keep(first, 3)
    assert starts.keep(second, 3)


def test_next_standby_waits_near_end_of_first_run() -> None:
    starts = Starts()
    first = starts.start()
    assert starts.takes_place(first)
    starts.keep(first, RUN_SECONDS - 60)
    assert not starts.takes_place(starts.start(), within=5.0)
    first.release()
    assert starts.takes_place(starts.start(), within=0.0)


def test_only_one_candidate_waits_and_others_end_after_one_read() -> None:
    starts = Starts()
    first = starts.start()
    assert first.may_wait()
    assert not starts.start().may_wait()
    starts.clock.advance(3)
    assert first.may_wait()
    assert not starts.start().may_wait()


def test_candidate_may_wait_until_a_crashed_standbys_lease_expires() -> None:
    starts = Starts()
    assert starts.start().may_wait()  # and crashes
    starts.clock.advance(16)
    second = starts.start()
    for _ in range(20):
        assert second.may_wait()
        starts.clock.advance(1)
    assert second.renew()
    assert not starts.start().may_wait()


def test_candidate_that_lost_the_lease_continues_to_wait() -> None:
    starts = Starts()
    first, second = starts.start(), starts.start()
    assert first.may_wait()
    starts.clock.advance(20)
    while not second.renew():
        assert second.may_wait()
        starts.clock.advance(1)
    assert first.may_wait()
