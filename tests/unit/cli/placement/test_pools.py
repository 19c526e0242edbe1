"""Pods that the simulation places use floating pools, and the remaining units are kept for waiting pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.placement.policy.case_run import run_case
from berth_cli.placement.policy.cases import Case, PodExpectation
from berth_cli.placement.policy.diff_from_dump import diff_policies, objects_to_place
from berth_cli.placement.policy.policy_diff import headline
from berth_cli.placement.queue import read_queue
from berth_cli.placement.scheduler.control_loop import Outcome, control_loop_of
from berth_cli.sources.dump.manifests import Manifests, manifests_of
from tests.unit.cli.explanation.cases import waiting
from tests.unit.cli.placement.objects import Object, node

SEAT = "example.com/seat"
NO_MANIFESTS = Manifests()
SHORT, KEPT = (
    f"Insufficient {SEAT} in the cluster",
    f"{SEAT} in the cluster is kept for waiting pods of a higher priority",
)


def seats(number: int, **more: Any) -> BerthConfiguration:
    counted = [{"name": SEAT, "capacity": {"value": number, "scope": "cluster"}, **more}]
    return BerthConfiguration.model_validate(
        {"profile": "managed-resources", "managedResources": counted, "gangs": {"enabled": True}}
    )


def asks(name: str, amount: int = 1, priority: int = 0, on: str = "", cpu: str = "10m", **metadata: object) -> Object:
    requests = {"cpu": cpu, SEAT: str(amount)}
    spec: Object = {"priority": priority, "containers": [{"name": "c", "resources": {"requests": requests}}]}
    if on:
        spec["nodeName"] = on
    named = {"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata}
    return {"kind": "Pod", "metadata": named, "spec": spec, "status": {"phase": "Pending"}}


def gang(size: int, **fields: Any) -> list[Object]:
    annotations = {"berth.dev/gang": "train", "berth.dev/gang-size": str(size)}
    return [asks(f"train-{number}", annotations=annotations, **fields) for number in range(size)]


def placed(objects: Iterable[Object], capacity: int = 12, manifests: Manifests = NO_MANIFESTS) -> list[Outcome]:
    configuration = seats(capacity)
    cluster, queue = read_queue([node("a"), node("b"), *objects], "dump", configuration, manifests=manifests)
    return list(control_loop_of(configuration, cluster.snapshot).run(queue.pods))


def messages(outcomes: Iterable[Outcome]) -> Mapping[str, str]:
    return {
        each.pod.name: "placed" if each.node else each.message.partition(": 2 ")[2].rstrip(".") for each in outcomes
    }


def test_12_of_200_pods_get_the_12_seats_of_a_pool() -> None:
    found = messages(placed(asks(f"p{number}") for number in range(200)))
    assert [name for name, text in found.items() if text == "placed"] == [f"p{number}" for number in range(12)]
    assert {text for text in found.values() if text != "placed"} == {SHORT}


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param(
            [asks("held", 9, on="a"), asks("large", 5, 9), asks("small")],
            {"large": SHORT, "small": KEPT},
            id="a pod that asks for much: the rest is kept for it",
        ),
        pytest.param(
            [asks("held", 9, on="a"), asks("large", 5), asks("small")],
            {"large": SHORT, "small": "placed"},
            id="a pod of the same priority: nothing is kept",
        ),
        pytest.param(
            [asks("held", 9, on="a"), asks("cpu", 3, 9, cpu="99"), asks("small")],
            {"cpu": "Insufficient cpu", "small": "placed"},
            id="a pod that waits for something else: nothing is kept",
        ),
        pytest.param(
            [asks("held", 9, on="a"), waiting(asks("cpu", 3, 9, cpu="99"), f"{SEAT} in the cluster"), asks("small")],
            {"cpu": "Insufficient cpu", "small": "placed"},
            id="a pod that waited in the dump, and waits for something else now",
        ),
        pytest.param(
            [asks("held", 9, on="a"), *gang(4, priority=9), asks("small")],
            {**{f"train-{number}": "gang waits for a floating resource" for number in range(4)}, "small": KEPT},
            id="a gang: the rest is kept for it",
        ),
        pytest.param(
            [asks("held", 8, on="a"), *gang(4, priority=9), asks("small")],
            {**{f"train-{number}": "placed" for number in range(4)}, "small": SHORT},
            id="a gang with enough left is placed together",
        ),
    ],
)
def test_remaining_units_are_kept_for_waiting_pods_of_a_higher_priority(
    objects: Sequence[dict[str, Any]], wanted: Mapping[str, str]
) -> None:
    assert messages(placed(objects)) == wanted


def test_pods_of_a_manifest_leave_the_units_kept_for_a_waiting_pod_of_the_dump() -> None:
    dump: list[Any] = [asks("held", 9, on="a"), waiting(asks("large", 5, 9), f"{SEAT} in the cluster")]
    assert messages(placed(dump, manifests=manifests_of([asks("new")], "here"))) == {"new": KEPT}


def test_diff_of_two_capacities_shows_one_more_pod() -> None:
    policies = seats(12), seats(13)
    objects = [node("a"), *(asks(f"p{number}", on="a") for number in range(20))]
    found = diff_policies(objects_to_place(objects, ["default-scheduler"]), "dump", policies, ["default-scheduler"])
    assert headline(found) == "0 newly pending, 0 moved, 1 newly placed"
    assert [each.name for each in found.changed] == ["default/p12"]


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        pytest.param("large", "InsufficientFloatingResource", id="too little left"),
        pytest.param("small", "KeptForHigherPriority", id="kept for another pod"),
    ],
)
def test_case_may_expect_the_reason_of_a_pool(expected: str, reason: str) -> None:
    objects = (node("a"), asks("held", 9, on="a"), asks("large", 5, 9), asks("small"))
    expect = {expected: PodExpectation(pending=True, reason=reason)}
    case = Case("c", Path("t.yaml"), 1, seats(12), 1, objects, Manifests(), expect)
    assert run_case(case).failures == ()
