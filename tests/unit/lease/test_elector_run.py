"""The loop around an elector."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.lease.config import ElectionOutcome, Handover
from berth.lease.elector import new_identity, run
from tests.unit.lease.clocks import AT
from tests.unit.lease.contenders import Contender, holder
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import InMemoryStore, stored_lease


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def waiting(contender: Contender, stop_after: int) -> Callable[[float], bool]:
    """Waits for the requested time, and stops after so many waits."""
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


def test_takes_over_an_expired_lease(store: InMemoryStore) -> None:
    store.put(stored_lease("bing"))
    alpha = Contender(store, "alpha")
    run(alpha.elector, waiting(alpha, 9))
    assert ("started", 1) in alpha.events
    assert holder(store) == ("", 1)


def test_hands_over_at_the_announced_time(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha", handover=Handover(at=AT + 7))
    assert run(alpha.elector, waiting(alpha, -1)).outcome is ElectionOutcome.RELEASED
    assert alpha.clock.wall() - AT == 7
    assert holder(store) == ("", 0)


def test_ends_if_it_is_not_needed(store: InMemoryStore) -> None:
    store.put(stored_lease("bing"))
    alpha = Contender(store, "alpha", handover=Handover(horizon=120))
    assert run(alpha.elector, waiting(alpha, -1)).outcome is ElectionOutcome.NOT_NEEDED
    assert alpha.calls() == ["get"]


def test_ends_at_the_deadline_and_tries_to_release(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")
    alpha.lead()
    alpha.calls()
    alpha.faults.always = Fault.UNREACHABLE
    assert run(alpha.elector, waiting(alpha, -1)).outcome is ElectionOutcome.RENEW_DEADLINE_EXCEEDED
    assert alpha.calls()[-2:] == ["get", "get"]


def test_releases_if_the_work_fails(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")

    def fail(_: float) -> bool:
        raise RuntimeError("work")

    with pytest.raises(RuntimeError, match="work"):
        run(alpha.elector, fail)
    assert holder(store) == ("", 0)


def test_repeats_a_release_without_response_once(store: InMemoryStore) -> None:
    alpha = Contender(store, "alpha")
    alpha.faults.plan(None, None, Fault.THROTTLED)
    run(alpha.elector, waiting(alpha, 1))
    assert alpha.calls() == ["get", "create", "get", "get", "update"]
    assert holder(store) == ("", 0)


def test_continues_to_work_while_it_waits(store: InMemoryStore) -> None:
    """Publications come more often than renewals would: then there is none."""
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
