"""A running server as the source of a console: how current it is, and by what it decides."""

from __future__ import annotations

import pytest

from berth_cli.console.cluster.source import ClusterNotObserved, ObservedCluster, SourceKind
from berth_cli.console.running_server.source import ServerSource
from tests.fakes.doctor import ADDRESS, answered
from tests.unit.cli.console.cases import Waits
from tests.unit.cli.console.running_server.cases import REFUSED, Routes, healthy

NOW = 1000.0


class Looking:
    """waits: the times between two looks."""

    def __init__(self, **more: object) -> None:
        self.endpoint = Routes(health=answered(healthy(**more)))
        waits = Waits()
        self.waits = waits.seconds
        self.source = ServerSource(self.endpoint.server, lambda: NOW, waits)

    def look(self) -> ObservedCluster:
        found = self.source.observe(1.0)
        assert isinstance(found, ObservedCluster)
        return found


def test_says_the_age_of_its_data_and_its_configuration() -> None:
    looking = Looking()
    found = looking.look()
    assert (looking.source.kind, looking.source.name) == (SourceKind.SERVER, ADDRESS)
    assert (found.observed_at, found.problem, len(found.snapshot.nodes)) == (NOW - 4.0, "", 0)
    assert found.configured.document.profile == "label-priority"
    assert looking.waits == []


def test_same_configuration_is_read_once_and_the_state_stays_the_same() -> None:
    looking = Looking()
    first, second = looking.look(), looking.look()
    assert first.configured is second.configured
    assert first.snapshot is second.snapshot
    assert looking.waits == [1.0]


def test_another_configuration_is_taken_over() -> None:
    looking = Looking()
    looking.look()
    looking.endpoint.health = answered(healthy(configuration={"profile": "full"}))
    assert looking.look().configured.document.profile == "full"


def test_stale_server_says_why() -> None:
    looking = Looking()
    looking.endpoint.health = answered(healthy(status="failure-cache-stale", reason="no watcher runs"), 503)
    assert looking.look().problem == "no watcher runs"


def test_server_that_went_away_leaves_the_last_state_with_the_cause() -> None:
    looking = Looking()
    before = looking.look()
    looking.endpoint.health = REFUSED
    after = looking.look()
    assert (after.observed_at, after.configured) == (before.observed_at, before.configured)
    assert "connection refused" in after.problem


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(REFUSED, "is berth serve running there?", id="no answer"),
        pytest.param(answered(b"<html>", 200), "is it a berth serve?", id="another server"),
        pytest.param(answered({"Error": "no certificate"}, 401), "no certificate", id="caller is refused"),
    ],
)
def test_server_that_never_answered_is_not_observed(answer: object, reason: str) -> None:
    looking = Looking()
    looking.endpoint.health = answer  # type: ignore[assignment]
    found = looking.source.observe(0)
    assert isinstance(found, ClusterNotObserved)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("configuration", "problem"),
    [
        pytest.param(None, "does not say its configuration", id="an older release"),
        pytest.param({"profile": "of-their-own"}, "--plugins DIR", id="a profile that only the server has"),
    ],
)
def test_configuration_that_cannot_be_read_is_a_problem(configuration: object, problem: str) -> None:
    found = Looking(configuration=configuration).look()
    assert problem in found.problem
