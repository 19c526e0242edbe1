"""The wake-up with one rule left out. Each variant forgets a pod or wakes it too late."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.leader import ObservedState
from berth.scheduling.framework.plugin import NODE_EVENTS, ClusterEvent
from berth.upkeep import wake_up
from berth.upkeep.pod_events import TokenBuckets
from berth.upkeep.wake_up import WakeUp, pod_events
from tests.simulation.broken import functions_of

from . import leader

# The patches are methods with the types of the methods that they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def nodes_and_ended_pods_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not register the events of other pods that the rule reads."""
    monkeypatch.setattr(leader, "REGISTERED", NODE_EVENTS | {ClusterEvent.ASSIGNED_POD_DELETE})


def removal_of_pods_seen_on_nodes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignores a pod that was bound and removed between two publications."""

    def seen(before, now):
        for event in pod_events(before, now):
            if event is not ClusterEvent.ASSIGNED_POD_DELETE or (before is not None and before["spec"]):
                yield event

    monkeypatch.setattr(wake_up, "pod_events", seen)


def removal_before_a_creation_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignores a pod that was bound, removed and recreated between two publications."""
    take = ObservedState.take_changes

    def taken(self):
        return list({change[:2]: change for change in take(self)}.values())

    monkeypatch.setattr(ObservedState, "take_changes", taken)


def late_rejection_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets a rejection that appears after a publication but was decided on the previous state."""
    monkeypatch.setattr(WakeUp, "_may_be_late", lambda self, key: False)


def late_rejection_within_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allows a fixed delay, although a watch or a write may take longer."""

    def within(self, key):
        events = self._waiting[key].events
        return any(self._published_at.get(event, 0.0) > self._clock.wall() - 2.0 for event in events)

    monkeypatch.setattr(WakeUp, "_may_be_late", within)


def late_rejection_since_it_was_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignores that the pod existed before its watch delivered it."""
    learn = WakeUp.published

    def published(self, publication):
        self._covered_until = self._clock.wall()
        learn(self, publication)

    monkeypatch.setattr(WakeUp, "published", published)


def failed_wake_up_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drops a failed wake-up without a retry."""
    wake = leader.Queue.wake

    def once(self, waiting):
        try:
            wake(self, waiting)
        except ClusterUnavailable:
            return

    monkeypatch.setattr(leader.Queue, "wake", once)


def new_leader_does_not_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets that the predecessor may have published without a wake-up."""
    learn = WakeUp._learn

    def learned(self, changes, events):
        learn(self, changes, events)
        if len(events) == len(ClusterEvent):
            self._due.clear()

    monkeypatch.setattr(WakeUp, "_learn", learned)


def new_leader_knows_what_it_has_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats the first publication as complete, though it contains only a part of the known objects."""
    learn = WakeUp.published

    def published(self, publication):
        learn(self, publication)
        self._is_initialized = True

    monkeypatch.setattr(WakeUp, "published", published)


def list_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assumes that a list misses no pod that came and went."""
    learn = WakeUp.published

    def published(self, publication):
        pods = publication.observation.positions["pods"]
        self._listed_at = pods.listed_at
        learn(self, publication)

    monkeypatch.setattr(WakeUp, "published", published)


def verbs_have_read_what_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignores that verbs may use an earlier state for a while."""
    create = WakeUp.__init__
    monkeypatch.setattr(WakeUp, "__init__", lambda self, *args: create(self, *args[:4]))


def limited_wake_up_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not wake a pod later if its budget is spent."""
    step = WakeUp.step

    def stepped(self):
        try:
            return step(self)
        finally:
            self._due.clear()

    monkeypatch.setattr(WakeUp, "step", stepped)


def nothing_is_left_of_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not wake any pod a second time."""
    monkeypatch.setattr(TokenBuckets, "tokens", lambda self, key, now: 0 if key in self._buckets else self._burst)


BROKEN = functions_of(globals(), "monkeypatch")
