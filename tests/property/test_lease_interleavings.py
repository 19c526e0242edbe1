"""Several candidates under random interleavings, faults and clocks, down to the single call of a step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from berth.lease.clock import Instant
from berth.lease.in_memory_lock import Condition, InMemoryItem, Item
from berth.lease.record import Fence
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.lease.contenders import Contender, pass_time
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import InMemoryStore

ENVIRONMENTS = 3
FREEZES = {0, 1}  # the clocks of the others are set, back too: one that did both could believe in its lease too long
SECONDS = [0.5, 2, 3, 8, 10, 15, 16, 120]
FAULTS = [None, None, None, Fault.LOST, Fault.DELAYED, Fault.UNREACHABLE]
ONE = ["step"] * 4 + ["flush"] * 4 + ["pause"] * 2 + ["pass", "set", "deliver", "release"]
ALL = ["everybody steps"] * 4 + ["everybody flushes"] * 2


@dataclass(frozen=True)
class Action:
    """One thing that happens. `meanwhile`: what happens just before the last call that it makes."""

    kind: str
    who: int
    seconds: float
    faults: tuple[Fault | None, ...] = ()
    meanwhile: Action | None = None


def _actions(meanwhile: st.SearchStrategy[Action | None]) -> st.SearchStrategy[Action]:
    return st.builds(
        Action,
        st.sampled_from(ONE + ALL),
        st.integers(0, ENVIRONMENTS - 1),
        st.sampled_from(SECONDS),
        st.lists(st.sampled_from(FAULTS), max_size=3).map(tuple),
        meanwhile,
    )


ACTIONS = _actions(st.none() | _actions(st.none()))


class WatchedItem(InMemoryItem):
    """Checks every write that the store takes against the one before it."""

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
    """A numeric attribute; 0 if there is none."""
    value: Any = item.get(name, 0)
    return int(value)


@dataclass
class Flush:
    """Begun under a fence, and not published yet."""

    fence: Fence
    version: int
    at: Instant


class World:
    """Environments, each with a candidate and the writer that it lets write; and one item."""

    def __init__(self) -> None:
        self.store = InMemoryStore()
        self.store.item = WatchedItem()
        self.clocks = [EnvironmentClock(1.7e9 + 1000 * number) for number in range(ENVIRONMENTS)]
        self.runs = 0
        self.contenders = [self._new(clock) for clock in self.clocks]
        self.flushes: list[Flush | None] = [None] * ENVIRONMENTS

    def happen(self, action: Action) -> None:
        """Let it happen, and look whether at most one believes that it leads."""
        contender = self.contenders[action.who]
        contender.faults.plan(*action.faults)
        if action.meanwhile is not None and action.meanwhile.who != action.who:
            meanwhile = action.meanwhile
            for call in ("create", "update"):
                contender.lock.before_next(call, lambda: self._do(meanwhile))
        self._do(action)
        contender.lock.forget()
        contender.faults.forget()
        believers = [other.elector.identity for other in self.contenders if other.fence() is not None]
        assert len(believers) <= 1, believers

    def _do(self, action: Action) -> None:
        match action.kind:
            case "everybody steps":
                pass_time(2.5, *self.contenders)
                for who in range(ENVIRONMENTS):
                    self._step(who)
            case "everybody flushes":
                for who in range(ENVIRONMENTS):
                    self._flush(who)
            case "pass":
                pass_time(action.seconds, *self.contenders)
            case "step":
                self._step(action.who)
            case "flush":
                self._flush(action.who)
            case "deliver":
                self.contenders[action.who].faults.deliver()
            case "release":
                self.contenders[action.who].release()
            case _:
                self._disturb(action)

    def _disturb(self, action: Action) -> None:
        """Pause an environment, or set its clock."""
        clock = self.clocks[action.who]
        freezes = action.who in FREEZES
        if action.kind == "set":
            clock.set_wall(action.seconds if freezes else -100 * action.seconds)
            return
        for other in self.clocks:
            if other is clock and freezes:
                other.freeze(action.seconds)
            else:
                other.advance(action.seconds)

    def _step(self, who: int) -> None:
        if self.contenders[who].elector.step().ended:
            # The flush stays: it is the paused writer of the run before, which goes on whenever it likes.
            self.contenders[who] = self._new(self.clocks[who])

    def _flush(self, who: int) -> None:
        """Begin one, or publish the one that was begun, however long ago."""
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
        """Nothing fails any more: soon one leads, and what it publishes is what there is."""
        for contender in self.contenders:
            contender.faults.deliver()
        for _ in range(20):
            self._do(Action("everybody steps", 0, 0))
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


@settings(max_examples=150)
@given(st.lists(ACTIONS, min_size=20, max_size=60))
def test_under_any_interleaving_the_record_only_grows_and_one_leads(actions: list[Action]) -> None:
    """The store's writes are checked one by one by WatchedItem."""
    world = World()
    for action in actions:
        world.happen(action)
    world.quiet()
