"""Expectations of a case, and the message if something else happens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.reason_code import ReasonCode
from berth_cli.placement.policy.case_run import run_case
from berth_cli.placement.policy.cases import Case, PodExpectation
from berth_cli.sources.dump.manifests import Manifests, manifests_of
from berth_cli.terminal.input_files import InvalidInput
from tests.unit.cli.placement.objects import Object, node, pod

RANKED = BerthConfiguration.model_validate(
    {"profile": "label-priority", "pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "rank"}}]}
)
NO_LABEL = "node(s) didn't have the priority label rank"


def failures(
    *pods: Object,
    expect: Mapping[str, dict[str, Any]],
    also: tuple[Object, ...] = (),
    policy: BerthConfiguration = RANKED,
) -> list[str]:
    failed = run_case(case(*pods, expect=expect, also=also, policy=policy)).failures
    return [line for each in failed for line in (str(each), *each.details)]


def case(
    *pods: Object,
    expect: Mapping[str, dict[str, Any]],
    also: tuple[Object, ...] = (),
    policy: BerthConfiguration = RANKED,
) -> Case:
    """Return a case with three nodes of 4 cpus: only `low` and `high` have a rank. also: more objects."""
    cluster = (node("low", rank="1"), node("high", rank="9"), node("none"), *also)
    manifests = manifests_of(pods, "here") if pods else Manifests()
    expectations = {name: PodExpectation(**expected) for name, expected in expect.items()}
    return Case("c", Path("t.yaml"), 1, policy, 13, cluster, manifests, expectations)


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param({"node": "high"}, id="expected node"),
        pytest.param({"node": "h*"}, id="a pattern of nodes"),
        pytest.param({"node": ("low", "high")}, id="one of several nodes"),
        pytest.param({"pending": False}, id="any node"),
        pytest.param({"rejected": {"none": NO_LABEL}}, id="reason for another node"),
        pytest.param({"rejected": {"none": "PriorityLabelMissing"}}, id="reason code for another node"),
    ],
)
def test_passes_if_a_placed_pod_is_as_expected(expected: dict[str, Any]) -> None:
    assert failures(pod("p"), expect={"p": expected}) == []


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param({"pending": True}, id="no node"),
        pytest.param({"reason": "Insufficient cpu"}, id="event message"),
        pytest.param({"reason": "InsufficientResource"}, id="the code of a reason"),
        pytest.param({"rejected": {"*": "Insufficient cpu"}, "pending": True}, id="reason for a node"),
        pytest.param({"rejected": {"*": "InsufficientResource"}}, id="reason code for a node"),
    ],
)
def test_passes_if_a_pending_pod_is_as_expected(expected: dict[str, Any]) -> None:
    assert failures(pod("p", cpu="9"), expect={"p": expected}) == []


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        pytest.param(
            {"node": "none"},
            ["default/p: expected node none, found high", f"none: NodePriorityLabel: {NO_LABEL}"],
            id="expects a rejected node",
        ),
        pytest.param(
            {"node": "x*"},
            ["default/p: expected node x*, found high", "no node has such a name"],
            id="node pattern without a match",
        ),
        pytest.param({"pending": True}, ["default/p: expected no node, found high"], id="expects pending"),
        pytest.param({"reason": "cpu"}, ["default/p: expected a reason with 'cpu', found high"], id="absent reason"),
        pytest.param(
            {"rejected": {"low": "cpu"}},
            ["default/p: expected low rejected with 'cpu', found low: not rejected"],
            id="expects rejection by a feasible node",
        ),
        pytest.param(
            {"rejected": {"none": "cpu"}},
            [f"default/p: expected none rejected with 'cpu', found none: NodePriorityLabel: {NO_LABEL}"],
            id="another reason",
        ),
        pytest.param(
            {"rejected": {"x": "cpu"}},
            ["default/p: expected x rejected with 'cpu', found no such node; it has low, high, none"],
            id="unknown node",
        ),
    ],
)
def test_failure_describes_the_actual_outcome(expected: dict[str, Any], says: list[str]) -> None:
    found = failures(pod("p"), expect={"p": expected})
    assert [line for line in found if " total " not in line] == says


@pytest.mark.parametrize(
    ("expected", "codes"),
    [
        pytest.param({"node": "none"}, [ReasonCode.PRIORITY_LABEL_MISSING], id="reason of the expected node"),
        pytest.param({"rejected": {"none": "cpu"}}, [ReasonCode.PRIORITY_LABEL_MISSING], id="another reason code"),
        pytest.param({"reason": "cpu"}, [], id="pod with a node"),
    ],
)
def test_failure_lists_the_reason_codes_of_the_outcome(expected: dict[str, Any], codes: list[ReasonCode]) -> None:
    [found] = run_case(case(pod("p"), expect={"p": expected})).failures
    assert list(found.codes) == codes


def test_pattern_applies_to_each_matching_pod() -> None:
    found = failures(pod("p-1"), pod("p-2", cpu="9"), pod("q", cpu="9"), expect={"p-*": {"pending": False}})
    assert [line.split(":")[0] for line in found] == ["default/p-2"]


def test_expectation_fails_if_it_does_not_match_a_pod() -> None:
    assert failures(pod("p"), expect={"other": {"pending": True}}) == [
        "default/other: expected such a pod among those to place, found default/p"
    ]


def test_evicted_pod_is_pending_at_the_end() -> None:
    important = pod("important", cpu="4", priority=9, nodeSelector={"rank": "9"})
    lesser = pod("lesser", "high", cpu="4", priority=1)
    expect: dict[str, dict[str, Any]] = {
        "important": {"node": "high"},
        "lesser": {"pending": True, "reason": "evicted for default/important"},
    }
    assert failures(important, also=(lesser,), expect=expect) == []


def test_pod_of_another_scheduler_is_evaluated_only_if_that_scheduler_is_given() -> None:
    waiting = pod("p", schedulerName="berth")
    expect = {"p": {"node": "high"}}
    alone = case(also=(waiting,), expect=expect)
    cause = (
        "1 pod of another scheduler (berth): give --scheduler-name berth, or name the scheduler in `profiles` of the "
        "policy"
    )
    with pytest.raises(InvalidInput, match=re.escape(f"t.yaml:1: no pods to place: {cause}")):
        run_case(alone)
    assert run_case(alone, ["berth"]).failures == ()
    [failure] = run_case(case(also=(waiting, pod("q")), expect=expect)).failures
    assert str(failure) == "default/p: expected such a pod among those to place, found default/q"
    assert failure.details == (f"left out: {cause}",)
