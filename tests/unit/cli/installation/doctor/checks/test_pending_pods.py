"""The check of pending pods that no scheduler has tried."""

from __future__ import annotations

import pytest

from berth_cli.installation.doctor.checks.pending_pods import UNTRIED_SECONDS, check_pending_pods
from berth_cli.installation.doctor.cluster_access import UntriedPod
from berth_cli.installation.doctor.findings import Result
from tests.fakes.doctor import NOW, FakeAccess
from tests.unit.cli.installation.doctor.finding_assertions import expect

OWN = ("berth-scheduler",)


def untried(scheduler_name: str, name: str = "waiting", *, age: float = UNTRIED_SECONDS + 1) -> UntriedPod:
    return UntriedPod("team-a", name, scheduler_name, NOW - age)


@pytest.mark.parametrize(
    ("scheduler_name", "remedy"),
    [
        pytest.param("berth-schedular", "did you mean berth-scheduler?", id="a misspelled profile"),
        pytest.param("defualt-scheduler", "did you mean default-scheduler?", id="a misspelled default"),
        pytest.param("volcano", "one of berth-scheduler, default-scheduler", id="an unknown scheduler"),
        pytest.param("berth-scheduler", "whether the scheduler of berth-scheduler runs", id="a scheduler that is down"),
    ],
)
def test_reports_unserved_scheduler_name(scheduler_name: str, remedy: str) -> None:
    found = list(check_pending_pods(FakeAccess(untried=[untried(scheduler_name)]), OWN, NOW))
    expect(found, "schedulerName", Result.FAILED, f"no scheduler named {scheduler_name} has tried team-a/waiting")
    assert remedy in found[0].remedy


def test_does_not_mistake_the_name_of_a_second_scheduler_for_a_misspelling() -> None:
    """Before the second scheduler runs, its configuration is not given."""
    [finding] = check_pending_pods(FakeAccess(untried=[untried("berth-scheduler")]), (), NOW)
    assert finding.remedy == (
        "set schedulerName to one of default-scheduler, or run a scheduler with a profile of this name"
    )


@pytest.mark.parametrize(
    "pods", [pytest.param([], id="no pod waits"), pytest.param([untried("volcano", age=1)], id="a new pod")]
)
def test_accepts_pods_that_the_scheduler_may_not_have_tried_yet(pods: list[UntriedPod]) -> None:
    expect(check_pending_pods(FakeAccess(untried=pods), (), NOW), "schedulerName", Result.OK, "has been tried")
