"""Several candidates under random interleavings, faults and clocks, down to the single call of a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.lease.clock import Instant
from berth.lease.lock import Fence
from berth_cli.server.store.lease_lock import Condition, InMemoryItem, Item
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.lease.contenders import Contender, holder, pass_time
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import InMemoryStore

ENVIRONMENTS = 3
FREEZES = {0, 1}  # the other clock is set back; a clock with both faults could trust its lease too long
SECONDS = [0.5, 2, 3, 8, 10, 15, 16, 120]
FAULTS = [None] * 9 + [Fault.LOST, Fault.DELAYED, Fault.UNREACHABLE]
KINDS = ["step", "flush", "pause", "pause the leader", "set", "deliver", "release"]
KINDS += ["pass", "everybody steps", "others step", "others step", "everybody flushes", "everybody flushes"]


@dataclass(frozen=True)
class Action:
    """An action. `meanwhile`: actions during the write that the action makes, before or after the write arrives."""

    kind: str
    who: int
    seconds: float
    faults: tuple[Fault | None, ...] = ()
    meanwhile: tuple[Action, ...] = ()


def _action(random: Random, *, meanwhile: bool) -> Action:
    return Action(
        random.choice(KINDS),
        random.randrange(ENVIRONMENTS),
        random.choice(SECONDS),
        tuple(random.choice(FAULTS) for _ in range(3)),
        tuple(_action(random, meanwhile=False) for _ in range(random.choice((0, 0, 1, 4)))) if meanwhile else (),
    )


class WatchedItem(InMemoryItem):
    """Checks every write that the store accepts against the previous state."""

    def update(self, condition: Condition, put: Item, remove: Collection[str] = ()) -> None:
        before = self.get()
        super().update(condition, put, remove)
        after = self.get()
        assert after is not None
        if before is None:
            assert (after["resourceVersion"], after["leaseTransitions"]) == (1, 0)
            return
        assert after["uid"] == before["uid"]
        assert number(after, "resourceVersion") == number(before, "resourceVersion") + 1
        changed_hands = after["holderIdentity"] not in (before["holderIdentity"], "")
        assert number(after, "leaseTransitions") == number(before, "leaseTransitions") + changed_hands
        published = number(after, "version") - number(before, "version")
        assert published in (0, 1)
        if published:
            assert after["publishedBy"] == before["holderIdentity"] == after["holderIdentity"]
            assert after["publishedIn"] == before["leaseTransitions"] == after["leaseTransitions"]


def number(item: Item, name: str) -> int:
    """Return a numeric attribute, or 0 if it is absent."""
    value: Any = item.get(name, 0)
    return int(value)


@dataclass
class Flush:
    """A publication that was begun under a fence and is not written yet."""

    fence: Fence
    version: int
    at: Instant


class World:
    """Environments, each with a candidate and its writer, which share one item."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.store.item = WatchedItem()
        self.clocks = [EnvironmentClock(1.7e9 + 1000 * number) for number in range(ENVIRONMENTS)]
        self.runs = 0
        self.contenders = [self._new(clock) for clock in self.clocks]
        self.flushes: list[Flush | None] = [None] * ENVIRONMENTS

    def happen(self, action: Action) -> None:
        """Perform the action. Assert that at most one candidate believes that it leads, and that the record agrees."""
        contender = self.contenders[action.who]
        contender.faults.plan(*action.faults)
        for call in ("create", "update"):
            plan = contender.lock.before_next if action.seconds < 10 else contender.lock.after_next
            for meanwhile in action.meanwhile:
                plan(call, partial(self._do, meanwhile, busy=action.who))
        self._do(action)
        contender.lock.forget()
        contender.faults.forget()
        fences = [fence for contender in self.contenders if (fence := contender.fence()) is not None]
        assert len(fences) <= 1, fences
        for fence in fences:
            assert holder(self.store) == (fence.holder_identity, fence.lease_transitions)

    def _do(self, action: Action, busy: int | None = None) -> None:
        """Perform the action. `busy`: the environment that waits for a response and does nothing else."""
        everybody = [who for who in range(ENVIRONMENTS) if who != busy]
        who, seconds = action.who, action.seconds
        if who == busy and action.kind in ("step", "flush", "release"):
            return
        calls: dict[str, Callable[[], object]] = {
            "step": lambda: self._step(who),
            "everybody steps": lambda: self._round(everybody),
            "others step": lambda: self._round([other for other in everybody if not self._believes(other)]),
            "flush": lambda: self._flush(who),
            "everybody flushes": lambda: self._flush_all(everybody),
            "pass": lambda: pass_time(seconds, *self.contenders),
            "pause": lambda: self._pause(who, seconds),
            "pause the leader": lambda: self._pause(next(filter(self._believes, everybody), who), seconds),
            "set": lambda: self.clocks[who].set_wall(seconds if who in FREEZES else -100 * seconds),
            "deliver": self.contenders[who].faults.deliver,
            "release": self.contenders[who].release,
        }
        calls[action.kind]()

    def _believes(self, who: int) -> bool:
        return self.contenders[who].fence() is not None

    def _round(self, some: Iterable[int]) -> None:
        pass_time(2.5, *self.contenders)
        for who in some:
            self._step(who)

    def _pause(self, who: int, seconds: float) -> None:
        for other, clock in enumerate(self.clocks):
            if other == who and who in FREEZES:
                clock.freeze(seconds)
            else:
                clock.advance(seconds)

    def _step(self, who: int) -> None:
        if self.contenders[who].elector.step().ended:
            # The flush stays: it belongs to the paused writer of the previous run, which may resume at any time.
            self.contenders[who] = self._new(self.clocks[who])

    def _flush_all(self, some: Iterable[int]) -> None:
        for who in some:
            self._flush(who)

    def _flush(self, who: int) -> None:
        """Begin a flush, or publish the flush that was begun, however long ago."""
        contender, flush = self.contenders[who], self.flushes[who]
        if flush is None:
            fence = contender.fence()
            if fence is not None:
                version = number(self.store.attributes(), "version") + 1
                self.flushes[who] = Flush(fence, version, contender.clock.now())
            return
        self.flushes[who] = None
        attributes = {
            "version": Decimal(flush.version),
            "publishedBy": flush.fence.holder_identity,
            "publishedIn": Decimal(flush.fence.lease_transitions),
        }
        written = self.store.publish(flush.fence, attributes, renew_time=flush.at.wall)
        if contender.faults.take() is None:  # else its answer is lost, and the elector learns nothing
            tell = contender.elector.renewed if written else lambda fence, _: contender.elector.refused(fence)
            tell(flush.fence, flush.at)

    def _new(self, clock: EnvironmentClock) -> Contender:
        self.runs += 1
        return Contender(self.store, f"run-{self.runs}", clock=clock)

    def quiet(self) -> None:
        """Assert that without faults one candidate soon leads, and that its publication is stored."""
        for contender in self.contenders:
            contender.faults.deliver()
        for _ in range(20):
            self._round(range(ENVIRONMENTS))
        leaders = [contender for contender in self.contenders if contender.fence() is not None]
        assert len(leaders) == 1
        before = number(self.store.attributes(), "version")
        fence = leaders[0].lead()
        attributes = {
            "version": Decimal(before + 1),
            "publishedBy": fence.holder_identity,
            "publishedIn": Decimal(fence.lease_transitions),
        }
        assert leaders[0].publish(**attributes) is True
        assert number(self.store.attributes(), "version") == before + 1


@pytest.mark.long
@settings(max_examples=300)
@given(st.integers(min_value=0))
def test_record_only_grows_and_at_most_one_candidate_leads_in_any_interleaving(seed: int) -> None:
    """WatchedItem checks each write of the store. A seed allows far more actions than a list of drawn actions."""
    random, world = Random(seed), World()
    for _ in range(60):
        world.happen(_action(random, meanwhile=True))
    world.quiet()
