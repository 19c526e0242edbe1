"""The checks of /healthz: freshness, heartbeat and clock."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.doctor.checks.health import check_configuration, check_healthz
from berth_cli.installation.doctor.findings import Result
from berth_cli.sources.server import UNKNOWN, NoResponse, RunningBerth
from tests.fakes.doctor import HEALTHY, FakeEndpoint, answered
from tests.unit.cli.installation.doctor.finding_assertions import expect, of

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED


def test_passes_for_healthy_cache() -> None:
    assert {finding.result for finding in check_healthz(FakeEndpoint())} == {OK}


@pytest.mark.parametrize(
    ("health", "check", "result", "message"),
    [
        pytest.param(
            answered({"status": "failure-cache-unavailable", "reason": "the node cache is empty"}, 503),
            "cache", FAILED, "the node cache is empty", id="Berth's own reason",
        ),
        pytest.param(
            answered({"status": "failure-counting-lost", "reason": "counts none"}, 503),
            "managedResources", FAILED, "counts none", id="a lost configuration",
        ),
        pytest.param(
            answered({**HEALTHY, "observedAgeSeconds": 200.0}, 503), "cache", FAILED, "200.0 s old", id="stale"
        ),
        pytest.param(
            answered({**HEALTHY, "pluginDifference": "the plugins here are 2+b"}),
            "configuration", WARNING, "the plugins here are 2+b", id="other plugins",
        ),
        pytest.param(
            answered({**HEALTHY, "configurationFallback": "No module named 'mine'; version 1 is used instead"}),
            "configuration", FAILED, "the applied configuration is not in use: No module named 'mine'", id="a fallback",
        ),
        pytest.param(answered({**HEALTHY, "observedAgeSeconds": 100.0}), "cache", WARNING, "100.0 s old", id="ageing"),
        pytest.param(
            answered({**HEALTHY, "observedAgeSeconds": -20.0}), "cache", WARNING, "clock is ahead", id="negative age"
        ),
        pytest.param(
            answered({**HEALTHY, "heartbeatAgeSeconds": 400.0}), "watcher", FAILED, "no watcher is", id="no watcher"
        ),
        pytest.param(answered({"message": "Forbidden"}, 403), "cache", FAILED, "status 403", id="not authorized"),
        pytest.param(answered(b"ok"), "cache", FAILED, "not a response of Berth", id="another server"),
        pytest.param(NoResponse("no response in time"), "cache", FAILED, "no response in time", id="no response"),
        pytest.param(answered(HEALTHY, ahead=3.0), "clock", OK, "agrees", id="header resolution"),
        pytest.param(answered(HEALTHY, ahead=9.0, seconds=9.0), "clock", OK, "agrees", id="call duration"),
        pytest.param(answered(HEALTHY, ahead=60.0), "clock", WARNING, "60 s ahead", id="a minute"),
        pytest.param(answered(HEALTHY, ahead=-400.0), "clock", FAILED, "400 s behind", id="above AWS limit"),
        pytest.param(answered(HEALTHY, ahead=None), "clock", SKIPPED, "sends no Date header", id="no Date"),
    ],
)  # fmt: skip
def test_reports_problems_shown_by_healthz(health: Any, check: str, result: Result, message: str) -> None:
    found = list(check_healthz(FakeEndpoint(health=health)))
    expect(found, check, result, message)
    assert len(of(found, check)) == 1


COUNTING = BerthConfiguration.model_validate(
    {"profile": "managed-resources", "managedResources": [{"name": "example.com/licence"}]}
)


def test_reports_configuration_that_is_not_in_use() -> None:
    found = list(check_configuration(RunningBerth(configuration=BerthConfiguration()), COUNTING))
    expect(found, "configuration", FAILED, "differs in profile, managedResources")


@pytest.mark.parametrize(
    "running", [pytest.param(RunningBerth(configuration=COUNTING), id="the same"), pytest.param(UNKNOWN, id="unknown")]
)
def test_accepts_configuration_in_use(running: RunningBerth) -> None:
    assert not list(check_configuration(running, COUNTING))
