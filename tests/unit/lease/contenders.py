"""Candidates with clocks of their own, driven step by step."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from berth.lease.config import (
    BecameLeader,
    ElectionOutcome,
    Handover,
    LeaderCallbacks,
    LeaderElectionConfig,
    ReleaseOutcome,
    Step,
)
from berth.lease.elector import LeaderElector
from berth.lease.lock import Fence

from .clocks import EnvironmentClock
from .stores import LeaseStore

STEP = 1.0


class Contender:
    """One candidate in an environment of its own. `events`: its callbacks, in order."""

    def __init__(
        self,
        store: LeaseStore,
        identity: str,
        *,
        config: LeaderElectionConfig | None = None,
        handover: Handover | None = None,
        clock: EnvironmentClock | None = None,
        random: Callable[[], float] = lambda: 0.0,
        epoch_floor: Callable[[], int] = lambda: 0,
    ) -> None:
        self.store = store
        self.clock = clock or EnvironmentClock()
        self.lock = store.lock()
        self.faults = self.lock.faults
        self.events: list[tuple[str, object]] = []
        self.elector = LeaderElector(
            self.lock,
            config or LeaderElectionConfig(),
            identity,
            self.clock,
            random,
            LeaderCallbacks(self._started, self._stopped, self._new_leader),
            handover,
            epoch_floor,
        )

    def step(self) -> ElectionOutcome:
        return self.elector.step().outcome

    def step_until_due(self) -> Step:
        """Wait until the next step is due, and take it."""
        step = self.elector.step()
        while step.outcome is ElectionOutcome.IDLE:
            self.clock.advance(step.again_in)
            step = self.elector.step()
        return step

    def lead(self) -> Fence:
        """Become leader, waiting as long as it takes."""
        while self.fence() is None:
            assert not self.step_until_due().ended
        fence = self.fence()
        assert fence is not None
        return fence

    def fence(self) -> Fence | None:
        """Return the fence for a publication at this time; None if this candidate must not publish."""
        return self.elector.fence()

    def publish(self, **attributes: object) -> bool:
        """Publish under the current fence, and report the result to the elector."""
        fence, now = self.fence(), self.clock.now()
        assert fence is not None, "it does not lead"
        written = self.store.publish(fence, attributes, renew_time=now.wall)
        if written:
            self.elector.renewed(fence, now)
        else:
            self.elector.refused(fence)
        return written

    def release(self) -> ReleaseOutcome:
        return self.elector.release()

    def calls(self) -> list[str]:
        """Return the calls of the lock since the previous call of this method."""
        calls = self.lock.calls.copy()
        self.lock.calls.clear()
        return calls

    def _started(self, became: BecameLeader) -> None:
        self.events.append(("started", became.lease_transitions))

    def _stopped(self, outcome: ElectionOutcome) -> None:
        self.events.append(("stopped", outcome))

    def _new_leader(self, identity: str) -> None:
        self.events.append(("leader", identity))


def leading(store: LeaseStore, **options: Any) -> Contender:
    """Return a leader in epoch 0, without the calls that it has made so far."""
    alpha = Contender(store, "alpha", **options)
    alpha.lead()
    alpha.calls()
    return alpha


def pass_time(seconds: float, *contenders: Contender) -> None:
    """Let the same time pass for all contenders."""
    for contender in contenders:
        contender.clock.advance(seconds)


def holder(store: LeaseStore) -> tuple[object, int]:
    """Return the holder of the record and its epoch."""
    transitions = store["leaseTransitions"]
    assert isinstance(transitions, Decimal)
    return store["holderIdentity"], int(transitions)
