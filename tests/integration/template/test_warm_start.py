"""SnapStart, memory sizes and asynchronous invocation of the functions.

Checked on the processed template only: the emulator has no SnapStart.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.deployment.template import Deployment, of_type, read_template
from tests.deployment.transform import transformed

STARTED_WARM = {
    "FilterFunction",
    "FilterOnlyOneFunction",
    "PrioritizeFunction",
    "BindFunction",
    "PreemptFunction",
    "AuthorizerFunction",
}
"""The verbs, and the authorizer that the gateway asks before them with Basic credentials."""

ON_PUBLISH = {"ApplyOn": "PublishedVersions"}


def resources(kind: str, **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(transformed(), Authentication="basic", **parameters).resources(f"AWS::Lambda::{kind}")


def snap_start(chosen: str) -> dict[str, object]:
    functions = resources("Function", SnapStart=chosen)
    return {name: function["SnapStart"] for name, function in functions.items() if "SnapStart" in function}


def test_snapstart_is_off_by_default() -> None:
    assert read_template()["Parameters"]["SnapStart"]["Default"] == "false"
    assert snap_start("false") == {}


def test_snapstart_can_be_enabled_for_verbs_and_authorizer() -> None:
    assert snap_start("true") == dict.fromkeys(STARTED_WARM, ON_PUBLISH)


def test_asynchronous_events_expire_soon_and_are_not_retried() -> None:
    """Schedule and warm-up events follow every minute. Lambda must never retry a bind."""
    parameters = {"DeploymentPreference": "Canary10Percent10Minutes"}
    configured = resources("EventInvokeConfig", **parameters)
    assert {config["FunctionName"]["Ref"]: config["Qualifier"] for config in configured.values()} == dict.fromkeys(
        resources("Function", **parameters), "live"
    )
    for config in configured.values():
        assert (config["MaximumEventAgeInSeconds"], config["MaximumRetryAttempts"]) == (60, 0)
    schedules = Deployment(transformed(), Authentication="basic").resources("AWS::Scheduler::Schedule")
    [schedule] = schedules.values()
    assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}


def test_warm_up_targets_have_an_event_invoke_config() -> None:
    watcher = of_type(transformed(), "AWS::Lambda::Function")["WatcherFunction"]
    aliases = watcher["Environment"]["Variables"]["BERTH_WARM_UP_FUNCTIONS"]["Fn::Join"][1]
    warmed = Deployment(transformed(), Authentication="basic").value(aliases)
    configured = {config["FunctionName"]["Ref"] for config in resources("EventInvokeConfig").values()}
    assert {alias["Ref"].removesuffix("Aliaslive") for alias in warmed} <= configured


def memory_of(function: str, size: str) -> int:
    found = Deployment(
        read_template(), Authentication="basic", ClusterSize=size, DeploymentPreference="Linear10PercentEvery10Minutes"
    )
    return int(found.resources("AWS::Serverless::Function")[function]["MemorySize"])


@pytest.mark.parametrize("function", of_type(read_template(), "AWS::Serverless::Function"))
@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_memory_is_at_least_twice_the_measured_use(function: str, size: str) -> None:
    """The table in docs/reference/capacity.md says how it was measured, and why some functions have more."""
    name = read_template()["Resources"][function]["Properties"]["CodeUri"].removeprefix("functions/")
    capacity, _, _ = (PROJECT / "docs/reference/capacity.md").read_text().partition("### With Lambda's share")
    [row] = [line for line in capacity.splitlines() if line.startswith(f"| `{name}`, {size} |")] or [
        line for line in capacity.splitlines() if line.startswith(f"| `{name}` |")
    ]
    _, megabytes, held, *_ = [cell.strip() for cell in row.strip("|").split("|")]
    assert memory_of(function, size) == int(megabytes.replace(",", ""))
    assert memory_of(function, size) * 1024**2 >= 2 * int(held) * 1e6
