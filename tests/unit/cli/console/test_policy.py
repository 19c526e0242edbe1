"""The configuration in force, and what a second one would place elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.console.cluster.source import ClusterNotObserved, ObservedCluster
from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.access import Refusal
from berth_cli.console.policy.documents import PLACE_SECONDS, PolicyDocuments, SecondPolicy
from tests.builders.gangs import members
from tests.builders.nodes import PRIORITY
from tests.unit.cli.console.cases import NOW, HandDrivenSource, node, pod, snapshot

FULL = BerthConfiguration.model_validate({"profile": "full"})
LABELS = BerthConfiguration.model_validate({"profile": "label-priority"})
NODES = [node("n1"), node("n2", labels={PRIORITY: "5"}, allocatable={"cpu": "1"})]


def documents(
    *,
    in_force: BerthConfiguration = FULL,
    second: BerthConfiguration | None = LABELS,
    pods: int = 2,
    waiting: Sequence[Pod] | None = None,
    seconds: float = 0.0,
    observed: bool = True,
    nodes: Sequence[NodeInfo] = NODES,
    weight: int = 1,
) -> PolicyDocuments:
    """waiting: in place of so many pods. seconds: that each look at the clock takes."""
    pending = [pod(f"p{number}") for number in range(pods)] if waiting is None else waiting
    cluster = snapshot(nodes, [*pending, pod("on-node", "n1")])
    found = (
        ObservedCluster(cluster, NOW, ActiveConfiguration.of(in_force))
        if observed
        else ClusterNotObserved("being listed")
    )
    feed = Feed(HandDrivenSource(found), lambda: NOW)
    feed.observe(0)
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += seconds
        return now

    return PolicyDocuments(
        feed, None if second is None else SecondPolicy("proposed.yaml", second), clock, weight=weight
    )


def content(answer: bytes | Refusal) -> dict[str, Any]:
    assert isinstance(answer, bytes)
    found: dict[str, Any] = orjson.loads(answer)
    return found


def test_configurations_are_shown_without_their_defaults() -> None:
    found = content(documents().policy({}))
    assert "profile: full" in found["inForce"]
    assert found["second"]["name"] == "proposed.yaml"
    assert "maxStaleness" not in found["inForce"]
    assert content(documents(second=None).policy({}))["second"] is None


def test_difference_names_the_pods_that_go_elsewhere() -> None:
    found = content(documents().diff({}))
    assert found["judged"] == 2
    assert {(each["name"], each["after"]["node"]) for each in found["pods"]} <= {("p0", "n2"), ("p1", "n2")}
    assert found["moved"] == len(found["pods"]) > 0
    assert len(found["messages"]) == len(found["pods"])
    assert found["headline"] == f"0 newly pending, {found['moved']} moved, 0 newly placed"


@pytest.mark.parametrize(("weight", "moved"), [(1, []), (50, ["preferred"])])
def test_difference_is_of_the_weight_that_the_scheduler_gives_the_extender(weight: int, moved: list[str]) -> None:
    taint = {"key": "old", "value": "", "effect": "PreferNoSchedule"}
    nodes = [node("clean", labels={PRIORITY: "1"}), node("preferred", labels={PRIORITY: "10"}, taints=[taint])]
    found = content(documents(nodes=nodes, pods=1, weight=weight).diff({}))
    assert [each["after"]["node"] for each in found["pods"]] == moved


def test_same_policy_changes_nothing() -> None:
    found = content(documents(second=FULL).diff({}))
    assert (found["pods"], found["headline"]) == ([], "0 newly pending, 0 moved, 0 newly placed")


def test_pods_are_placed_while_there_is_time() -> None:
    found = content(documents(pods=9, seconds=PLACE_SECONDS / 3).diff({}))
    assert (found["judged"], found["notes"]) == (2, ["7 more were not placed"])


def test_a_gang_is_compared_as_a_whole_where_not_all_pods_are_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_cli.console.policy.documents.MOST_PODS", 1)
    gangs = BerthConfiguration.model_validate({"profile": "full", "gangs": {"enabled": True}})
    pods = [
        *members("gang", 2, spec={"schedulerName": "default-scheduler", "priority": 1}),
        *(pod(f"p{number}") for number in range(3)),
    ]
    found = content(documents(second=gangs, in_force=gangs, waiting=pods).diff({}))
    assert (found["judged"], found["summary"]["after"]["podsPending"]) == (2, 0)
    assert found["notes"] == ["3 more were not placed"]


def test_without_a_second_policy_says_how_to_give_one() -> None:
    found = documents(second=None).diff({})
    assert isinstance(found, Refusal)
    assert "--compare FILE" in found.reason


def test_nothing_is_compared_before_the_cluster_was_read() -> None:
    for answer in (documents(observed=False).policy({}), documents(observed=False).diff({})):
        assert isinstance(answer, Refusal)
        assert (answer.status, answer.reason) == (503, "being listed")
