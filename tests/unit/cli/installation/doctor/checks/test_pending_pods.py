"""The check of pending pods that no scheduler has tried."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from berth.scheduling.gangs.gang import SIZE, GangsConfiguration
from berth.scheduling.objects.pod_group import GANG_ANNOTATION
from berth_cli.installation.doctor.checks.pending_pods import UNTRIED_SECONDS, check_pending_pods, check_pool_requests
from berth_cli.installation.doctor.findings import Result
from tests.builders.counted import counting
from tests.builders.pods import pod_with
from tests.fakes.doctor import NOW, FakeAccess
from tests.unit.cli.installation.doctor.finding_assertions import expect

OWN = ("berth-scheduler",)


def untried(scheduler_name: str, *, age: float = UNTRIED_SECONDS + 1, **fields: Any) -> dict[str, Any]:
    created = {"creationTimestamp": datetime.fromtimestamp(NOW - age, UTC).isoformat()}
    return pod_with("waiting", namespace="team-a", schedulerName=scheduler_name, metadata=created, **fields)


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
    found = list(check_pending_pods(FakeAccess(pending=[untried(scheduler_name)]), OWN, NOW))
    expect(found, "schedulerName", Result.FAILED, f"no scheduler named {scheduler_name} has tried team-a/waiting")
    assert remedy in found[0].remedy


def test_does_not_mistake_the_name_of_a_second_scheduler_for_a_misspelling() -> None:
    """Until the second scheduler runs, its configuration is not given to the command."""
    [finding] = check_pending_pods(FakeAccess(pending=[untried("berth-scheduler")]), (), NOW)
    assert finding.remedy == (
        "set schedulerName to one of default-scheduler, or run a scheduler with a profile of this name"
    )


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no pod waits"),
        pytest.param([untried("volcano", age=1)], id="a new pod"),
        pytest.param([untried("volcano", schedulingGates=[{"name": "quota"}])], id="gated"),
        pytest.param([untried("volcano", status={"conditions": [{"type": "PodScheduled"}]})], id="tried"),
    ],
)
def test_accepts_pods_that_the_scheduler_may_not_have_tried_yet(pods: list[dict[str, Any]]) -> None:
    expect(check_pending_pods(FakeAccess(pending=pods), (), NOW), "schedulerName", Result.OK, "has been tried")


SEAT = "example.com/seat"


@pytest.mark.parametrize(
    ("capacity", "amount", "pool"),
    [
        pytest.param({"value": 12, "scope": "cluster"}, "12", "", id="as much as there is"),
        pytest.param({"value": 12, "scope": "cluster"}, "13", f"{SEAT}@cluster, which has 12", id="more"),
        pytest.param({"value": 12, "scope": "cluster"}, "many", "", id="an unreadable request"),
        pytest.param(None, "7", f"{SEAT}@namespace=team-a, which has 6", id="more than the limit of its namespace"),
        pytest.param({"value": 1, "scope": "zone"}, "2", "", id="the label of its node is unknown"),
    ],
)
def test_warns_about_a_pod_that_waits_forever_for_a_pool(capacity: object, amount: str, pool: str) -> None:
    limit = {} if capacity else {"perNamespace": 6}
    counted = counting({"name": SEAT, **({"capacity": capacity} if capacity else {}), **limit})
    access = FakeAccess(pending=[pod_with("p", namespace="team-a", requests={SEAT: amount}), pod_with("other")])
    found = list(check_pool_requests(access, counted, GangsConfiguration()))
    assert [each.message for each in found] == ([f"pod team-a/p requests {amount} of {pool}"] if pool else [])
    assert {each.result for each in found} <= {Result.WARNING}


@pytest.mark.parametrize(
    ("capacity", "sizes", "minimum", "message"),
    [
        pytest.param(8, [1] * 8, 8, "", id="as much as there is"),
        pytest.param(7, [1] * 8, 8, f"gang team-a/train requests 8 of {SEAT}@cluster, which has 7", id="more"),
        pytest.param(3, [4, 2, 1], 2, f"pod team-a/p0 requests 4 of {SEAT}@cluster, which has 3", id="smallest fit"),
        pytest.param(7, [1] * 7, 8, "", id="a member is missing"),
    ],
)
def test_warns_about_a_gang_that_waits_forever_for_a_pool(
    capacity: int, sizes: list[int], minimum: int, message: str
) -> None:
    annotations = {GANG_ANNOTATION: "train", SIZE: str(minimum)}
    members = [
        pod_with(f"p{number}", namespace="team-a", requests={SEAT: str(amount)}, metadata={"annotations": annotations})
        for number, amount in enumerate(sizes)
    ]
    counted = counting({"name": SEAT, "capacity": {"value": capacity, "scope": "cluster"}})
    found = check_pool_requests(FakeAccess(pending=members), counted, GangsConfiguration(enabled=True))
    assert [each.message for each in found] == ([message] if message else [])
