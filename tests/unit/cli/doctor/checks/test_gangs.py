"""The check of gangs: what kube-scheduler's configuration needs, and which gangs wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.doctor.access.account import InspectionDenied
from berth_cli.doctor.checks.gangs import MOST_SHOWN, check_concurrency, check_gang_scheduling, check_waiting_gangs
from berth_cli.doctor.findings import Result
from berth_cli.scheduler_config.managed_resources import ManagedResource, ManagedResources
from tests.builders.gangs import ENABLED
from tests.fakes.doctor import NOW, FakeAccount, FakeEndpoint, answered
from tests.unit.cli.doctor.finding_assertions import expect
from tests.unit.cli.doctor.scheduler_documents import document, side

CHECK = "gangs"
COUNTED = ManagedResources((ManagedResource("example.com/licence"),))


def waiting(
    name: str = "train", state: str = "does-not-fit", since: str = "2020-01-01T00:00:00+00:00"
) -> dict[str, Any]:
    return {"gang": f"ml/{name}", "state": state, "waitsFor": "needs 4 x 8 example.com/gpu", "since": since}


def told(*gangs: dict[str, Any]) -> FakeEndpoint:
    return FakeEndpoint(gangs=answered({"gangs": list(gangs), "open": None, "compared": True}))


@pytest.mark.parametrize(
    ("managed", "changes", "result", "message"),
    [
        pytest.param(ManagedResources(gangs=True), {}, Result.OK, "every pod", id="as scheduler-config prints it"),
        pytest.param(
            ManagedResources(COUNTED.resources, gangs=True), {}, Result.OK, "every pod", id="with counted resources"
        ),
        pytest.param(
            COUNTED, {}, Result.FAILED, "only pods that request a managed resource", id="printed without gangs"
        ),
        pytest.param(ManagedResources(), {"bindVerb": None}, Result.FAILED, "does not bind", id="no bind"),
        pytest.param(ManagedResources(), {"filterVerb": None}, Result.FAILED, "gangs have no plan", id="no filter"),
        pytest.param(
            ManagedResources(), {"httpTimeout": "3s"}, Result.WARNING, "lets a member wait 0.5 s", id="a short time"
        ),
        pytest.param(ManagedResources(), {}, Result.SKIPPED, "the flags of kube-scheduler", id="what it cannot see"),
    ],
)
def test_says_what_the_schedulers_configuration_lacks(
    managed: ManagedResources, changes: dict[str, Any], result: Result, message: str
) -> None:
    expect(check_gang_scheduling(side(document(managed, **changes)), ENABLED), CHECK, result, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"podMaxBackoffSeconds": 60}, "after up to 60 s", id="a longer one"),
        pytest.param({}, "after up to 10 s", id="that of kube-scheduler"),
    ],
)
def test_warns_about_a_long_back_off(changes: dict[str, int], message: str) -> None:
    found = side({**document(), **changes})
    expect(check_gang_scheduling(found, ENABLED), CHECK, Result.WARNING, message)


@pytest.mark.parametrize(
    ("flags", "result", "message"),
    [
        pytest.param(None, Result.SKIPPED, "are not in its configuration", id="unknown"),
        pytest.param(
            ("--config=/etc/berth/config.yaml", "--feature-gates=Other=true,SchedulerPopFromBackoffQ=false"),
            Result.OK,
            "runs with SchedulerPopFromBackoffQ=false",
            id="with the gate",
        ),
        pytest.param(("--feature-gates=Other=true",), Result.FAILED, "retried without a pause", id="without the gate"),
        pytest.param(
            ("--feature-gates=SchedulerPopFromBackoffQ=true",), Result.FAILED, "without a pause", id="the gate is on"
        ),
        pytest.param((), Result.FAILED, "retried without a pause", id="without flags"),
    ],
)
def test_demands_the_feature_gate_where_the_flags_are_known(
    flags: tuple[str, ...] | None, result: Result, message: str
) -> None:
    found = replace(side(document(ManagedResources(gangs=True))), flags=flags)
    expect(check_gang_scheduling(found, ENABLED), CHECK, result, message)


def test_says_nothing_where_gangs_are_not_enabled() -> None:
    assert list(check_gang_scheduling(side(document(bindVerb=None)), GangsConfiguration())) == []


@pytest.mark.parametrize(
    ("gang", "result", "message"),
    [
        pytest.param(waiting(), Result.WARNING, "needs 4 x 8 example.com/gpu", id="one that waits"),
        pytest.param(waiting(state="degraded"), Result.WARNING, "ml/train has waited for", id="one that is degraded"),
        pytest.param(waiting(state="committed"), Result.OK, "no gang of 1 waits", id="one that runs"),
        pytest.param(waiting(since="2999-01-01T00:00:00+00:00"), Result.OK, "no gang of 1 waits", id="a young one"),
    ],
)
def test_says_which_gang_waits_and_why(gang: dict[str, Any], result: Result, message: str) -> None:
    expect(check_waiting_gangs(told(gang), NOW), CHECK, result, message)


def test_shows_some_of_many() -> None:
    found = list(check_waiting_gangs(told(*[waiting(f"g{number}") for number in range(MOST_SHOWN + 2)]), NOW))
    assert len(found) == MOST_SHOWN + 1
    assert found[-1].message == "2 more gangs wait"


def test_says_nothing_about_a_stack_which_has_no_such_route() -> None:
    assert list(check_waiting_gangs(FakeEndpoint(), NOW)) == []


@pytest.mark.parametrize(
    ("account", "result", "message"),
    [
        pytest.param(FakeAccount(concurrency=1000), Result.OK, "for gangs of 100 members", id="enough"),
        pytest.param(FakeAccount(concurrency=100), Result.OK, "100 concurrent executions", id="just enough"),
        pytest.param(
            FakeAccount(concurrency=10),
            Result.WARNING,
            "a gang of about 10 members or more is never",
            id="a new account",
        ),
        pytest.param(
            FakeAccount(error=InspectionDenied("not allowed")), Result.SKIPPED, "not allowed", id="it may not ask"
        ),
    ],
)
def test_compares_the_accounts_concurrency_with_the_largest_gang(
    account: FakeAccount, result: Result, message: str
) -> None:
    expect(check_concurrency(account, GangsConfiguration(enabled=True, maxMembers=100)), CHECK, result, message)


def test_says_nothing_of_the_account_where_gangs_are_not_enabled() -> None:
    assert list(check_concurrency(FakeAccount(concurrency=1), GangsConfiguration())) == []
