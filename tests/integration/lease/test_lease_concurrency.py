"""Candidates in threads that start their conditional write together; only one write may succeed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier

import pytest

from berth.lease.config import ElectionOutcome
from tests.unit.lease.contenders import Contender, holder, pass_time
from tests.unit.lease.dynamodb_stores import EmulatorStore
from tests.unit.lease.stores import InMemoryStore, LeaseStore, stored_lease
from tests.unit.ledger.nodes.ledger_tables import CONCURRENT, IN_MEMORY, emulator_url

CANDIDATES = 8
ROUNDS = 6

BECAME_LEADER = ElectionOutcome.BECAME_LEADER
LOST_RACE = ElectionOutcome.LOST_RACE


@pytest.fixture(params=[IN_MEMORY, *CONCURRENT])
def concurrent_store(request: pytest.FixtureRequest) -> LeaseStore:
    return InMemoryStore() if request.param == IN_MEMORY else EmulatorStore(emulator_url(request.param, request))


def run_concurrently(*parts: Callable[[], bool | ElectionOutcome]) -> list[bool | ElectionOutcome]:
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(lambda part: part(), parts))


def candidates(store: LeaseStore, write: str) -> list[Contender]:
    """Return candidates that wait for each other before their next write."""
    barrier = Barrier(CANDIDATES)
    contenders = [Contender(store, f"candidate-{number}") for number in range(CANDIDATES)]
    for contender in contenders:
        contender.lock.before_next(write, barrier.wait)
    return contenders


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_only_one_of_many_creators_becomes_leader(concurrent_store: LeaseStore, attempt: int) -> None:
    contenders = candidates(concurrent_store, "create")
    outcomes = Counter(run_concurrently(*[contender.step for contender in contenders]))
    assert outcomes == {BECAME_LEADER: 1, LOST_RACE: CANDIDATES - 1}
    assert concurrent_store["resourceVersion"] == 1
    [leader] = [contender for contender in contenders if contender.fence() is not None]
    assert holder(concurrent_store) == (leader.elector.identity, 0)


@pytest.mark.parametrize("attempt", range(ROUNDS))
@pytest.mark.parametrize(
    ("item", "waited"),
    [
        pytest.param(stored_lease("old", lease_transitions=7), 15, id="expired"),
        pytest.param(stored_lease("", lease_transitions=7), 0, id="released"),
        pytest.param({"version": Decimal(1)}, 0, id="without a record"),
    ],
)
def test_one_of_many_candidates_takes_over_with_one_transition(
    concurrent_store: LeaseStore, item: dict[str, object], waited: float, attempt: int
) -> None:
    concurrent_store.put(item)
    contenders = candidates(concurrent_store, "update")
    if waited:
        assert {contender.step() for contender in contenders} == {ElectionOutcome.HELD}
        pass_time(waited, *contenders)
    outcomes = Counter(run_concurrently(*[contender.step for contender in contenders]))
    assert outcomes == {BECAME_LEADER: 1, LOST_RACE: CANDIDATES - 1}
    [leader] = [contender for contender in contenders if contender.fence() is not None]
    epoch = 8 if "leaseTransitions" in item else 1
    assert holder(concurrent_store) == (leader.elector.identity, epoch)
    assert concurrent_store["resourceVersion"] == (2 if "resourceVersion" in item else 1)


@pytest.mark.parametrize("attempt", range(ROUNDS))
def test_either_the_publication_or_the_takeover_succeeds(concurrent_store: LeaseStore, attempt: int) -> None:
    """The leader was paused for the duration of its lease, and publishes with its old fence."""
    alpha, beta = Contender(concurrent_store, "alpha"), Contender(concurrent_store, "beta")
    fence = alpha.lead()
    beta.step()
    beta.clock.advance(15)
    barrier = Barrier(2)
    beta.lock.before_next("update", barrier.wait)

    def publish() -> bool:
        barrier.wait()
        return concurrent_store.publish(fence, {"version": Decimal(1)}, renew_time=alpha.clock.wall())

    published, taken_over = run_concurrently(publish, lambda: beta.step() is BECAME_LEADER)
    assert published is not taken_over
    assert ("version" in concurrent_store.attributes()) is published
    assert holder(concurrent_store) == (("alpha", 0) if published else ("beta", 1))
    assert concurrent_store["resourceVersion"] == 2
