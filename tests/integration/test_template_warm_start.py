"""How environments of the functions start (WarmStart), their memory, and what is not asked of them twice.

In the template as CloudFormation gets it; Lambda's own part has run nowhere.
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
"""The verbs, and what stands before each of them."""

CHOICES = read_template()["Parameters"]["WarmStart"]["AllowedValues"]
IMAGE = {"ApplyOn": "PublishedVersions"}


def made(kind: str, **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(transformed(), Authentication="basic", **parameters).resources(f"AWS::Lambda::{kind}")


def images(warm_start: str) -> dict[str, object]:
    functions = made("Function", WarmStart=warm_start)
    return {name: function["SnapStart"] for name, function in functions.items() if "SnapStart" in function}


def provisioned(warm_start: str, **parameters: str) -> dict[str, object]:
    aliases = made("Alias", WarmStart=warm_start, **parameters)
    return {
        name.removesuffix("Aliaslive"): alias["ProvisionedConcurrencyConfig"]
        for name, alias in aliases.items()
        if "ProvisionedConcurrencyConfig" in alias
    }


def test_by_default_nothing_is_paid_for_that_is_not_called() -> None:
    assert CHOICES[0] == read_template()["Parameters"]["WarmStart"]["Default"] == "none"
    assert (images("none"), provisioned("none")) == ({}, {})


def test_snapstart_takes_an_image_of_each_version_of_a_verb_and_of_the_authorizer() -> None:
    assert images("snapstart") == dict.fromkeys(STARTED_WARM, IMAGE)


def test_provisioned_keeps_that_many_environments_behind_their_aliases() -> None:
    for given, parameters in [(2, {}), ("7", {"ProvisionedConcurrency": "7"})]:
        kept = {"ProvisionedConcurrentExecutions": given}
        assert provisioned("provisioned", **parameters) == dict.fromkeys(STARTED_WARM, kept)


@pytest.mark.parametrize("choice", CHOICES)
def test_lambda_has_not_both_and_is_never_asked_for_both(choice: str) -> None:
    assert not (images(choice) and provisioned(choice))


@pytest.mark.parametrize("choice", CHOICES)
def test_the_watcher_starts_cold_it_lives_for_a_quarter_of_an_hour(choice: str) -> None:
    assert "WatcherFunction" not in images(choice).keys() | provisioned(choice).keys()


@pytest.mark.parametrize(
    ("runtime", "choice", "refused"),
    [
        pytest.param("python3.11", "snapstart", True, id="a runtime that Lambda takes no images of"),
        pytest.param("python3.12", "snapstart", False, id="the first that it does"),
        pytest.param("python3.13", "snapstart", False, id="the default"),
        pytest.param("python3.11", "provisioned", False, id="any runtime can be kept running"),
        pytest.param("python3.11", "none", False, id="or started cold"),
    ],
)
def test_a_runtime_without_images_is_refused_before_anything_is_deployed(
    runtime: str, choice: str, refused: bool
) -> None:
    refusals = Deployment(read_template(), Authentication="basic", PythonRuntime=runtime, WarmStart=choice).refusals()
    assert bool(refusals) is refused


@pytest.mark.parametrize("function", sorted(STARTED_WARM))
def test_another_choice_is_another_version_for_an_image_is_of_a_version(function: str) -> None:
    versions = of_type(transformed(), "AWS::Lambda::Version").values()
    [description] = [each["Description"] for each in versions if each["FunctionName"] == {"Ref": function}]
    assert "${WarmStart}" in str(description["Fn::Sub"])


def test_no_event_is_delivered_late_or_again_whoever_sends_it() -> None:
    """Schedule and warm-up events: the next one comes within a minute. A bind is never to be repeated unseen."""
    parameters = {"DeploymentPreference": "Canary10Percent10Minutes"}
    configured = made("EventInvokeConfig", **parameters)
    assert {config["FunctionName"]["Ref"]: config["Qualifier"] for config in configured.values()} == dict.fromkeys(
        made("Function", **parameters), "live"
    )
    for config in configured.values():
        assert (config["MaximumEventAgeInSeconds"], config["MaximumRetryAttempts"]) == (60, 0)
    schedules = Deployment(transformed(), Authentication="basic").resources("AWS::Scheduler::Schedule")
    [schedule] = schedules.values()
    assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}


def test_whoever_gets_warm_up_events_has_such_a_configuration() -> None:
    watcher = of_type(transformed(), "AWS::Lambda::Function")["WatcherFunction"]
    warmed = watcher["Environment"]["Variables"]["BERTH_WARM_UP_FUNCTIONS"]["Fn::Join"][1]
    configured = {config["FunctionName"]["Ref"] for config in made("EventInvokeConfig").values()}
    assert {alias["Ref"].removesuffix("Aliaslive") for alias in warmed} <= configured


@pytest.mark.parametrize(
    "function", of_type(read_template(), "AWS::Serverless::Function").values(), ids=lambda each: each["CodeUri"]
)
def test_memory_is_what_was_measured_twice_at_least(function: dict[str, Any]) -> None:
    """By docs/reference/capacity.md, which says how to measure it again, and why it is more where it is."""
    name = function["CodeUri"].removeprefix("functions/")
    capacity = (PROJECT / "docs/reference/capacity.md").read_text()
    [row] = [line for line in capacity.splitlines() if line.startswith(f"| `{name}` |")]
    _, size, held, *_ = [cell.strip() for cell in row.strip("|").split("|")]
    assert function["MemorySize"] == int(size.replace(",", ""))
    assert function["MemorySize"] * 1024**2 >= 2 * int(held) * 1e6
