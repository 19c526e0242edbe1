"""Places of pods after a run of the control loop."""

from __future__ import annotations

from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import unresolvable, unschedulable
from berth.scheduling.reason_code import ReasonCode
from berth_cli.placement.queue import build_queue
from berth_cli.placement.run import NO_COUNTING, NOWHERE, Place, PlaceKind, Rule, Run, record, rules_of
from berth_cli.placement.scheduler.control_loop import control_loop_of
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.preemption.preempting import placed, snapshot


def waiting(name: str, cpu: str, priority: int = 0) -> dict[str, Any]:
    return pod_with(name, requests={"cpu": cpu}, priority=priority)


def run(*objects: dict[str, Any]) -> Run:
    """Place those of the objects that are pods without a node."""
    cluster = snapshot(*objects)
    loop = control_loop_of(BerthConfiguration.model_validate({"profile": "full"}), cluster)
    return record(loop, loop.run(build_queue(cluster.unbound.values(), ()).pods), NO_COUNTING)


def test_returns_the_place_of_queued_and_running_pods() -> None:
    found = run(node_with("n"), placed("there", 0, "1"), waiting("small", "1"), waiting("large", "99"))
    assert found.place_of(("default", "there")) == Place(PlaceKind.NODE, "n")
    assert found.place_of(("default", "small")) == Place(PlaceKind.NODE, "n")
    assert found.place_of(("default", "large")) == Place(
        PlaceKind.PENDING,
        message="0/1 nodes are available: 1 Insufficient cpu.",
        rules=(Rule("NodeResourcesFit", "Insufficient cpu", 1, ReasonCode.INSUFFICIENT_RESOURCE),),
    )
    assert found.place_of(("default", "other")) == NOWHERE
    assert [found.count(kind) for kind in PlaceKind] == [1, 1, 0, 0]


def test_evicted_pod_names_the_pod_that_replaced_it() -> None:
    found = run(node_with("n"), placed("lesser", 1, "4"), waiting("urgent", "4", priority=9))
    assert found.place_of(("default", "urgent")) == Place(PlaceKind.NODE, "n")
    assert found.place_of(("default", "lesser")) == Place(PlaceKind.EVICTED, message="evicted for default/urgent")
    assert found.priorities == {("default", "urgent"): 9, ("default", "lesser"): 1}


def test_groups_rejections_by_plugin_and_reason_in_descending_frequency() -> None:
    statuses = {
        "a": unschedulable("NodeResourcesFit", "Insufficient cpu", "Insufficient memory"),
        "b": unresolvable("NodeAffinity", "no match"),
        "c": unschedulable("NodeResourcesFit", "Insufficient memory"),
    }
    assert [str(each) for each in rules_of(statuses)] == [
        "NodeResourcesFit: Insufficient memory (2 nodes)",
        "NodeAffinity: no match (1 node)",
        "NodeResourcesFit: Insufficient cpu (1 node)",
    ]
