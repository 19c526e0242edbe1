"""WarmStart, memory sizes and asynchronous invocation of the functions.

Checked on the processed template only: the emulator has neither SnapStart nor provisioned concurrency.
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

CHOICES = read_template()["Parameters"]["WarmStart"]["AllowedValues"]
ON_PUBLISH = {"ApplyOn": "PublishedVersions"}


def resources(kind: str, **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(transformed(), Authentication="basic", **parameters).resources(f"AWS::Lambda::{kind}")


def snap_start(warm_start: str) -> dict[str, object]:
    functions = resources("Function", WarmStart=warm_start)
    return {name: function["SnapStart"] for name, function in functions.items() if "SnapStart" in function}


def provisioned(warm_start: str, **parameters: str) -> dict[str, object]:
    aliases = resources("Alias", WarmStart=warm_start, **parameters)
    return {
        name.removesuffix("Aliaslive"): alias["ProvisionedConcurrencyConfig"]
        for name, alias in aliases.items()
        if "ProvisionedConcurrencyConfig" in alias
    }


def test_default_has_no_snapshots_and_no_provisioned_concurrency() -> None:
    assert CHOICES[0] == read_template()["Parameters"]["WarmStart"]["Default"] == "none"
    assert (snap_start("none"), provisioned("none")) == ({}, {})


def test_snapstart_applies_to_verbs_and_authorizer() -> None:
    assert snap_start("snapstart") == dict.fromkeys(STARTED_WARM, ON_PUBLISH)


def test_provisioned_concurrency_applies_to_verbs_and_authorizer() -> None:
    for given, parameters in [(2, {}), ("7", {"ProvisionedConcurrency": "7"})]:
        kept = {"ProvisionedConcurrentExecutions": given}
        assert provisioned("provisioned", **parameters) == dict.fromkeys(STARTED_WARM, kept)


@pytest.mark.parametrize("choice", CHOICES)
def test_never_combines_snapstart_and_provisioned_concurrency(choice: str) -> None:
    assert not (snap_start(choice) and provisioned(choice))


@pytest.mark.parametrize("choice", CHOICES)
def test_watcher_always_starts_cold(choice: str) -> None:
    assert "WatcherFunction" not in snap_start(choice).keys() | provisioned(choice).keys()


@pytest.mark.parametrize(
    ("runtime", "choice", "refused"),
    [
        pytest.param("python3.11", "snapstart", True, id="python3.11 has no SnapStart"),
        pytest.param("python3.12", "snapstart", False, id="python3.12 has SnapStart"),
        pytest.param("python3.13", "snapstart", False, id="default runtime"),
        pytest.param("python3.11", "provisioned", False, id="provisioned with any runtime"),
        pytest.param("python3.11", "none", False, id="cold start with any runtime"),
    ],
)
def test_rejects_snapstart_for_unsupported_runtime(runtime: str, choice: str, refused: bool) -> None:
    refusals = Deployment(
        read_template(), Authentication="basic", PythonRuntime=runtime, WarmStart=choice
    ).failed_assertions()
    assert bool(refusals) is refused


def test_asynchronous_events_are_neither_late_nor_repeated() -> None:
    """Schedule and warm-up events follow every minute. A bind must never be repeated by Lambda."""
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
        read_template(), Authentication="basic", ClusterSize=size, DeploymentPreference="Linear10PercentEvery1Minute"
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


LEFT_UNRESERVED = 100
"""What Lambda keeps of an account's quota of concurrent executions, unless the whole quota is smaller."""


def test_documents_name_the_quota_that_provisioned_environments_need() -> None:
    default = read_template()["Parameters"]["ProvisionedConcurrency"]["Default"]
    page = " ".join((PROJECT / "docs/how-to/cold-starts.md").read_text().split())
    assert f"to {LEFT_UNRESERVED + len(STARTED_WARM) * default} or more for the default of {default}" in page
