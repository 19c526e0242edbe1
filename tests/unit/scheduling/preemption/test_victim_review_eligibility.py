"""Which pods may preempt (fact 33)."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.placement.scheduler.preemption import Ineligible
from tests.builders.nodes import node_with
from tests.unit.scheduling.preemption import preempting
from tests.unit.scheduling.preemption.preempting import NODE, placed, preempt

Object = dict[str, Any]

PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
NOMINATED: Object = {"status": {"nominatedNodeName": "n"}}


V = placed("v", cpu="2")
"""Who has to go in any case."""


def urgent(**fields: Any) -> Object:
    return preempting.urgent("3", **fields)


def leaving(priority: int | None = 0, *conditions: Object, terminating: bool = True, node: str = "n") -> Object:
    found = conditions or (PREEMPTED,)
    return placed("leaving", priority, terminating=terminating, conditions=found, node=node)


@pytest.mark.parametrize(
    ("pod", "objects", "wanted"),
    [
        pytest.param(urgent(), [NODE, V], None, id="a pod may preempt"),
        pytest.param(urgent(preemptionPolicy="PreemptLowerPriority"), [NODE, V], None, id="preemptionPolicy allows it"),
        pytest.param(urgent(preemptionPolicy="Never"), [NODE, V], Ineligible.NEVER, id="preemptionPolicy forbids it"),
        pytest.param(urgent(**NOMINATED), [NODE, V, leaving()], Ineligible.WAITING, id="its victims still terminate"),
        pytest.param(urgent(), [NODE, V, leaving()], None, id="victims of another pod terminate"),
        pytest.param(urgent(**NOMINATED), [NODE, V, leaving(100)], None, id="terminating of the same priority"),
        pytest.param(
            urgent(priority=1, **NOMINATED),
            [NODE, V, leaving(None)],
            Ineligible.WAITING,
            id="a victim without a priority has 0",
        ),
        pytest.param(urgent(**NOMINATED), [NODE, V, leaving(terminating=False)], None, id="pod is not terminating"),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, V, leaving(0, {**PREEMPTED, "reason": "EvictionByEvictionAPI"})],
            None,
            id="another component deletes the pod",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, V, leaving(0, {**PREEMPTED, "status": "False"})],
            None,
            id="the condition is False",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, V, leaving(0, {**PREEMPTED, "reason": "TerminationByKubelet"}, PREEMPTED)],
            None,
            id="only the first condition of that type is read",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, V, leaving(0, {"type": "Ready"}, PREEMPTED)],
            Ineligible.WAITING,
            id="other types",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, node_with("m"), V, leaving(node="m"), placed("w", cpu="2", node="m")],
            None,
            id="the victim is on another node",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [node_with("n", unschedulable=True), node_with("m"), leaving(), placed("w", cpu="2", node="m")],
            None,
            id="the nominated node is now unresolvable",
        ),
        pytest.param(urgent(status={"nominatedNodeName": "gone"}), [NODE, V, leaving()], None, id="node was deleted"),
    ],
)
def test_only_an_eligible_pod_preempts(pod: Object, objects: list[Object], wanted: Ineligible | None) -> None:
    found = preempt(pod, *objects)
    assert found.ineligible is wanted
    assert bool(found.candidates) is (wanted is None)
    assert (found.nominated is None) is (wanted is not None)


def test_ineligibility_reasons_equal_kube_schedulers_reasons() -> None:
    assert list(Ineligible) == [
        "not eligible due to preemptionPolicy=Never.",
        "not eligible due to a terminating pod on the nominated node.",
    ]
