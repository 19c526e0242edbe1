"""Alarms about schedulers that cannot call Berth: a leader's metrics, evaluated by the template's properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.runtime.telemetry.metrics import NAMESPACE, STACK, Metrics
from berth.runtime.watcher.scheduler_access import SchedulerAccess
from tests.deployment import alarms
from tests.deployment.template import Deployment, read_template
from tests.fakes.credential_stores import InMemoryAllowList
from tests.unit.runtime.watcher.test_undecided_pods import CREATED_AT, placed, pod

MINUTE = 60.0
FIRST_MINUTE = int(CREATED_AT // MINUTE)
PODS, CERTIFICATE = "PodsUndecided", "CertificateExpiry"
ALARMS = alarms.alarms(
    Deployment(read_template(), Authentication="mtls", DomainName="berth.example.com").resources(
        "AWS::CloudWatch::Alarm"
    ),
    {"AWS::StackName": "berth"},
)


class Recorded(Metrics):
    def __init__(self) -> None:
        super().__init__()
        self.found = alarms.Metrics()

    def emit(self, groups: Any, dimensions: Any, values: Mapping[str, Any], now: float) -> None:
        for name, found in values.items():
            self.found.add(NAMESPACE, name, {STACK: "berth", **dimensions}, now, found)

    def values(self, name: str, minute: int) -> list[float]:
        """Return the values of a metric in this minute after the pods were created."""
        metric = (NAMESPACE, name, frozenset({(STACK, "berth")}))
        return self.found.values(metric, range(FIRST_MINUTE + minute, FIRST_MINUTE + minute + 1))


class Scene:
    """A cluster since its pods were created. Every 15 minutes another leader takes over."""

    def __init__(self, *there_are: Change, allow_list: str = "", second: float = 0.0) -> None:
        """second: the seconds from the full minute to the first measurement."""
        self.wall = CREATED_AT + second
        self.metrics = Recorded()
        self.allow_list = InMemoryAllowList(allow_list)
        self.objects: dict[Key, Object] = {}
        self.lead()
        self.publish(*there_are)

    def lead(self) -> None:
        self.access = SchedulerAccess({"berth"}, lambda: self.allow_list, self.metrics, lambda: self.wall)
        self.publish()

    def publish(self, *changes: Change) -> None:
        for resource, key, obj in changes:
            self.objects.pop((resource, key), None)
            if obj is not None:
                self.objects[resource, key] = obj
        self.access.published(Publication(1, changes, self.objects, True, Observation("cluster", {}), {}))

    def run(self, seconds: float, happening: Callable[[Scene, float], None] = lambda _, __: None) -> None:
        """Let this many seconds pass. happening: called every second, with the seconds since the call of `run`."""
        due = self.wall
        for second in range(int(seconds)):
            if second and second % 900 == 0:
                self.lead()
            happening(self, second)
            if self.wall >= due:
                due = self.wall + self.access.step()
            self.wall += 1.0

    def states(self, name: str) -> Iterator[bool]:
        """Yield whether the alarm is on at the end of each minute."""
        return alarms.states(ALARMS[name], self.metrics.found, range(FIRST_MINUTE, int(self.wall // MINUTE)))


@pytest.mark.parametrize("second", range(0, 60, 7))
@pytest.mark.parametrize(
    "waiting",
    [
        pytest.param(pod("a"), id="scheduler stopped"),
        pytest.param(pod("a", failed=True), id="certificate expired, or endpoint gone"),
    ],
)
def test_alarm_is_on_within_five_minutes_and_stays_on_until_the_pod_is_placed(waiting: Change, second: int) -> None:
    scene = Scene(waiting, second=second)
    scene.run(45 * MINUTE)
    states = list(scene.states(PODS))
    assert states.index(True) + 1 <= 4, "within four minutes of the clock, and a minute is left for CloudWatch"
    assert all(states[states.index(True) :]), "a new leader does not end it"
    scene.publish(placed("a"))
    scene.run(3 * MINUTE)
    assert not list(scene.states(PODS))[-1]


def _queue(scene: Scene, second: float) -> None:
    if second % 10 == 0:
        scene.publish(placed(f"p{int(second)}"))


def _blip(scene: Scene, second: float) -> None:
    """Try an old pod every three minutes: its call fails once, and works ten seconds later."""
    if second % 180 == 55:
        scene.publish(pod("old", failed=True))
    elif second % 180 == 65:
        scene.publish(pod("old", rejectedByBerth=True))


@pytest.mark.parametrize(
    ("there_are", "happening"),
    [
        pytest.param([], lambda _, __: None, id="quiet cluster"),
        pytest.param([pod("a", rejectedByBerth=True)], lambda _, __: None, id="pod that Berth rejects for ever"),
        pytest.param([pod("a", gated=True)], lambda _, __: None, id="pod that does not count"),
        pytest.param([pod(f"p{each}") for each in range(0, 1800, 10)], _queue, id="queue of half an hour"),
        pytest.param([pod("old", rejectedByBerth=True)], _blip, id="single failed calls"),
    ],
)
def test_alarm_is_off_while_scheduler_works(there_are: list[Change], happening: Callable[[Scene, float], None]) -> None:
    scene = Scene(*there_are)
    scene.run(29 * MINUTE, happening)
    assert not any(scene.states(PODS))


def test_writes_a_metric_only_if_a_pod_waits() -> None:
    scene = Scene(allow_list="5eed5eed5eed5e1f until 2027-03-01T12:00:00Z")
    scene.run(30 * MINUTE)
    assert scene.metrics.found.minutes == {}


@pytest.mark.parametrize(
    ("allow_list", "days", "is_on"),
    [
        pytest.param("5eed5eed5eed5e1f until 2026-03-11T12:00:00Z", 10, True, id="ten days left"),
        pytest.param("5eed5eed5eed5e1f until 2026-02-28T12:00:00Z", -1, True, id="expired yesterday"),
        pytest.param("5eed5eed5eed5e1f until 2026-03-21T12:00:00Z", 20, False, id="20 days left"),
        pytest.param(
            "5eed5eed5eed5e1f until 2026-03-31T12:00:00Z",
            30 - 30 / 86_400,
            False,
            id="30 days left, so written from the second measurement on",
        ),
        pytest.param("5eed5eed5eed5e1f until 2027-03-01T12:00:00Z", None, False, id="a year left"),
        pytest.param("5eed5eed5eed5e1f replaced 2026-03-08T12:00:00Z", None, False, id="replaced"),
        pytest.param("", None, False, id="no certificate"),
    ],
)
def test_certificate_alarm_is_on_in_the_last_14_days(allow_list: str, days: float | None, is_on: bool) -> None:
    scene = Scene(allow_list=allow_list)
    scene.run(2 * MINUTE)
    written = scene.metrics.values("DaysToExpiry", 0)
    assert written[:1] == ([] if days is None else [pytest.approx(days)])
    assert list(scene.states(CERTIFICATE)) == [is_on, is_on]


def test_unreadable_allow_list_does_not_stop_the_alarm_about_waiting_pods() -> None:
    """With Basic credentials there is no list; otherwise the functions with a route report that it is unreadable."""
    scene = Scene(pod("a"))
    scene.allow_list.unavailable = True
    scene.run(4 * MINUTE)
    assert list(scene.states(PODS))[-1]
    assert scene.metrics.values("DaysToExpiry", 3) == []


def test_warning_names_pod_scheduler_and_cause(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(pod("a", failed=True))
    scene.run(MINUTE)
    assert caplog.messages == []
    scene.run(1)
    assert caplog.messages == ["ml/a waits for its scheduler berth for 60 s: its calls of Berth fail"]
