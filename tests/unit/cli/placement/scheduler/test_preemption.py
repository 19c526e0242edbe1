"""Preemption in the control loop: victims, nominations and their effect on later pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.priority import NodeRejection
from berth_cli.placement.queue import build_queue
from berth_cli.placement.report import eviction_document, eviction_text
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.placement.scheduler.preemption import Criterion, NoCandidateReason
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with, preempted
from tests.unit.scheduling.preemption.preempting import FIRST, SECOND, placed, snapshot

Object = dict[str, Any]


def waiting(name: str, cpu: str = "4", priority: int = 100, *, nominated: str = "", **fields: Any) -> Object:
    return pod_with(name, requests={"cpu": cpu}, priority=priority, status={"nominatedNodeName": nominated}, **fields)


def run(*objects: Object, document: Mapping[str, object] | None = None) -> tuple[list[Outcome], ControlLoop]:
    """Place the pods without a node, in a cluster of these objects, as `berth simulate` does."""
    configuration = BerthConfiguration.model_validate(document or {"profile": "full"})
    cluster = snapshot(*objects)
    extender = PolicyExtender(configuration.policy())
    loop = ControlLoop(configuration.build_profile("full"), cluster, extender)
    return list(loop.run(build_queue(cluster.unbound.values(), ()).pods)), loop


def placement(outcome: Outcome) -> tuple[str, list[str]]:
    victims = () if outcome.preemption is None else outcome.preemption.victims
    return outcome.node, [victim.name for victim in victims]


def names(pods: Sequence[Pod]) -> list[str]:
    return [each.name for each in pods]


def test_removes_victims_and_places_the_pod() -> None:
    [found], loop = run(node_with("n"), placed("a", 1, "2"), placed("b", 2, "2"), waiting("urgent", "2"))
    assert placement(found) == ("n", ["a"])
    assert found.message == ""
    assert names(loop.snapshot.nodes["n"].pods) == ["b", "urgent"]
    assert not loop.snapshot.nominated


def test_each_preemption_sees_earlier_preemptions() -> None:
    nodes = [node_with("a"), placed("on-a", 1, "4", node="a"), node_with("b"), placed("on-b", 2, "4", node="b")]
    found, _ = run(*nodes, *(waiting(f"urgent-{number}") for number in range(3)))
    assert [placement(each) for each in found] == [("a", ["on-a"]), ("b", ["on-b"]), ("", [])]
    assert found[-1].message == "0/2 nodes are available: 2 Insufficient cpu."


def test_cached_victims_depend_on_the_priority() -> None:
    nodes = [node_with("n"), placed("a", 1, "2"), placed("b", 50, "2")]
    found, _ = run(*nodes, waiting("first", "4", 40), waiting("second", "4", 60))
    assert [(each.pod.name, *placement(each)) for each in found] == [("second", "n", ["b", "a"]), ("first", "", [])]


def test_reports_why_other_nodes_were_not_selected() -> None:
    [found], _ = run(
        *(node_with("best"), placed("v", 1, "4", SECOND, node="best")),
        *(node_with("same"), placed("w", 1, "4", SECOND, node="same")),
        *(node_with("earlier"), placed("x", 1, "4", FIRST, node="earlier")),
        *(node_with("higher"), placed("y", 2, "4", node="higher")),
        *(node_with("more"), placed("z", 1, "2", node="more"), placed("zz", 1, "2", node="more")),
        *(node_with("equals"), placed("q", 100, "4", node="equals")),
        node_with("off", unschedulable=True),
        waiting("urgent"),
    )
    assert found.node == "best"
    assert found.preemption is not None
    assert found.preemption.others() == {
        "same": Criterion.TIED,
        "earlier": Criterion.START,
        "higher": Criterion.HIGHEST,
        "more": Criterion.SUM,
        "equals": NoCandidateReason.NO_VICTIMS,
        "off": NoCandidateReason.NOT_HELPFUL,
    }


@pytest.mark.parametrize(
    ("victims", "wanted"),
    [
        pytest.param(["a"], "waits for default/a on n, which is being deleted", id="one"),
        pytest.param(["a", "b"], "waits for default/a, default/b on n, which are being deleted", id="two"),
    ],
)
def test_names_preempted_pods_for_which_the_pod_waits(victims: list[str], wanted: str) -> None:
    objects = [preempted(each, "n", cpu="2") for each in victims]
    [found], _ = run(
        node_with("n"), node_with("m"), placed("v", 1, "4", node="m"), *objects, waiting("w", nominated="n")
    )
    assert placement(found) == ("", [])
    assert eviction_text(found.preemption) == wanted
    document = eviction_document(found.preemption)
    assert document is not None
    assert document["waitsFor"] == [f"default/{each}" for each in victims]


LABEL = {"profile": "label-priority"}


def test_nodes_rejected_by_the_policy_are_not_candidates() -> None:
    """The policy rejects two nodes: one is full; the other has room, so preemption would not help there."""
    [found], _ = run(
        *(node_with("barred"), placed("a", 1, "4", node="barred")),
        *(node_with("dropped"), placed("b", 1, "1", node="dropped")),
        *(node_with("good", {PRIORITY: "1"}), placed("c", 2, "4", node="good")),
        waiting("urgent", "3"),
        document=LABEL,
    )
    assert placement(found) == ("good", ["c"])
    assert found.preemption is not None
    assert found.preemption.others() == {"barred": NodeRejection.BARRED, "dropped": NoCandidateReason.NOT_HELPFUL}


def test_pod_rejected_only_by_the_policy_does_not_evict() -> None:
    [found], loop = run(node_with("n"), placed("a", 1, "1"), waiting("urgent", "1"), document=LABEL)
    assert placement(found) == ("", [])
    assert names(loop.snapshot.nodes["n"].pods) == ["a"]


@pytest.mark.parametrize("choose", ["all", "one"])
def test_selects_the_best_node_that_the_policy_accepts(choose: str) -> None:
    document = {**LABEL, "preemption": {"choose": choose}}
    objects = [
        *(node_with("a", {PRIORITY: "1"}), placed("on-a", 2, "4", node="a")),
        *(node_with("b", {PRIORITY: "1"}), placed("on-b", 1, "4", node="b")),
    ]
    [found], _ = run(*objects, waiting("urgent"), document=document)
    assert placement(found) == ("b", ["on-b"])
    assert found.preemption is not None
    wanted = {"all": Criterion.HIGHEST, "one": NodeRejection.NOT_BEST}
    assert found.preemption.others() == {"a": wanted[choose]}
