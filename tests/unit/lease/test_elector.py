"""The elector's own manners: when it wants to be called, what it calls back, and an election that is off."""

from __future__ import annotations

import pytest

from berth.lease.config import BecameLeader, ElectionOutcome, Handover, LeaderCallbacks, LeaderElectionConfig
from berth.lease.elector import LeaderElector
from tests.unit.lease.clocks import AT, EnvironmentClock
from tests.unit.lease.contenders import Contender
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import InMemoryStore, stored_lease


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def test_rejects_empty_identity(store: InMemoryStore) -> None:
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


def test_loser_of_race_retries_with_jitter(store: InMemoryStore) -> None:
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


def test_step_slightly_early_due_to_rounding_still_runs(store: InMemoryStore) -> None:
    """The sum of a large time and a small one is not exact: the caller waited for the requested time."""
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


def test_lost_race_reports_the_winner_immediately(store: InMemoryStore) -> None:
    alpha, beta = Contender(store, "alpha"), Contender(store, "beta")
    alpha.lock.before_next("create", beta.step)
    alpha.step()
    assert alpha.events == [("leader", "beta")]


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


def test_first_leader_has_no_predecessor(store: InMemoryStore) -> None:
    assert "alpha became leader in epoch 0, having waited 0.0 s" in Contender(store, "alpha").elector.step().detail


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
