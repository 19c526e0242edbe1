"""Only one candidate waits for a leader to fail."""

from __future__ import annotations

from itertools import count

from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.elector import LeaderElector, Standby
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock

from .clocks import EnvironmentClock

RUN_SECONDS = 870.0
HORIZON_SECONDS = 180.0


class Starts:
    """Starts of the watcher, each with a run time of its own; all stand for one place."""

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


def test_keeps_lease_by_renewing() -> None:
    starts = Starts()
    first = starts.start()
    assert starts.takes_place(first)
    assert starts.keep(first, 60)
    assert not starts.takes_place(starts.start())


def test_takes_a_released_lease_immediately() -> None:
    starts = Starts()
    first = starts.start()
    assert starts.takes_place(first)
    first.release()
    assert not first.renew()
    assert starts.takes_place(starts.start(), within=0.0)


def test_takes_lease_of_crashed_standby_after_expiry() -> None:
    starts = Starts()
    assert starts.takes_place(starts.start())
    starts.clock.advance(60)
    began = starts.clock.wall()
    assert starts.takes_place(starts.start())
    assert 15 <= starts.clock.wall() - began <= 20


def test_frozen_standby_detects_lost_lease() -> None:
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
    assert starts.start().may_wait()  # and is not heard of again
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
