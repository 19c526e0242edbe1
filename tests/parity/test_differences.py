"""The comparison finds each kind of difference, and ignores values that kube-scheduler does not specify."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.parity.differences import differences, preemption_differences
from tests.parity.equal_victims import in_berths_order
from tests.parity.generator.cases import case, cases
from tests.parity.generator.features import Family
from tests.parity.responder import Answer, Case
from tests.parity.versions import CASES, DIFFERENCES, VERSION, comparable

REJECTED = {"code": "Unschedulable", "reasons": ["Insufficient b", "Insufficient a"]}
ACCEPTED: dict[str, Any] = {"code": "Success", "reasons": []}


def answer() -> Answer:
    """Return one rejected node, two scored nodes and two tied candidates, more than a real answer contains at once."""
    return {
        "verdicts": {
            "n0": {
                **REJECTED,
                "plugin": "NodeResourcesFit",
                "all": {"NodeResourcesFit": REJECTED, "NodeName": ACCEPTED},
            },
            "n1": {**ACCEPTED, "plugin": None, "all": {"NodeResourcesFit": ACCEPTED, "NodeName": ACCEPTED}},
        },
        "scores": {"ImageLocality": {"n1": 3, "n2": 4}},
        "total": {"n1": 3, "n2": 4},
        "preemption": {
            "nominated": "n0",
            "tied": ["n0", "n1"],
            "candidates": {"n0": {"victims": ["a", "b"], "numPDBViolations": 0}},
        },
        "error": None,
    }


def with_value(path: str, value: object) -> Answer:
    other = copy.deepcopy(answer())
    *steps, last = path.split(".")
    within = other
    for step in steps:
        within = within[step]
    within[last] = value
    return other


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        pytest.param("verdicts.n0.all.NodeResourcesFit.code", "Success", "NodeResourcesFit", id="code"),
        pytest.param("verdicts.n0.all.NodeResourcesFit.reasons", ["Insufficient a"], "NodeResourcesFit", id="reasons"),
        pytest.param("verdicts.n0.all.NodeResourcesFit", None, "NodeResourcesFit", id="missing verdict of a plugin"),
        pytest.param("verdicts.n0.plugin", "NodeName", "first plugin that rejects", id="first plugin"),
        pytest.param("scores.ImageLocality.n2", 5, "score of ImageLocality", id="score"),
        pytest.param("scores", {}, "score of ImageLocality", id="no scores"),
        pytest.param("total.n1", 4, "total score", id="total"),
        pytest.param("error", "no such profile", "error", id="error of Berth only"),
    ],
)
def test_reports_a_difference_in_any_compared_value(path: str, value: object, rule: str) -> None:
    assert rule in {difference.rule for difference in differences(Family.SCORE, answer(), with_value(path, value))}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("verdicts.n0.reasons", ["Insufficient a", "Insufficient b"], id="order of reasons"),
        pytest.param("verdicts.n1.plugin", "", id="no plugin rejects"),
    ],
)
def test_ignores_the_order_of_reasons_and_an_empty_plugin_name(path: str, value: object) -> None:
    assert differences(Family.SCORE, answer(), with_value(path, value)) == []


@pytest.mark.parametrize(
    ("path", "value", "rules"),
    [
        pytest.param("nominated", "n1", [], id="tied node"),
        pytest.param("nominated", "n2", ["nominated node"], id="other node"),
        pytest.param("nominated", None, ["nominated node"], id="no node"),
        pytest.param("candidates.n0.victims", ["b", "a"], [], id="order of victims"),
        pytest.param("candidates.n0.victims", ["a"], ["preemption candidate"], id="other victims"),
        pytest.param("candidates.n0.numPDBViolations", 1, ["preemption candidate"], id="number of violations"),
        pytest.param("candidates", {}, ["preemption candidate"], id="missing candidate"),
    ],
)
def test_finds_preemption_differences_except_ties_and_victim_order(path: str, value: object, rules: list[str]) -> None:
    found = preemption_differences(answer(), with_value(f"preemption.{path}", value))
    assert [difference.rule for difference in found] == rules


def pods(*priorities: int) -> Case:
    """Return a case of pods p0, p1, … on node n0."""
    objects = [
        {"kind": "Pod", "metadata": {"uid": f"p{index}"}, "spec": {"nodeName": "n0", "priority": priority}}
        for index, priority in enumerate(priorities)
    ]
    return {"objects": objects}


def evict_last(case: Case) -> Answer:
    victims = {"victims": [case["objects"][-1]["metadata"]["uid"]], "numPDBViolations": 0}
    return {"preemption": {"nominated": "n0", "tied": ["n0"], "candidates": {"n0": victims}}}


@pytest.mark.parametrize(
    ("case", "allowed"),
    [pytest.param(pods(1, 1), True, id="equal priority"), pytest.param(pods(1, 2), False, id="different priority")],
)
def test_accepts_different_victims_only_if_their_priority_is_equal(case: Case, *, allowed: bool) -> None:
    berth = {"preemption": {"candidates": {"n0": {"victims": ["p0"], "numPDBViolations": 0}}}}
    oracle = in_berths_order(case, evict_last(case), berth, evict_last)
    assert (oracle["preemption"]["candidates"]["n0"]["victims"] == ["p0"]) is allowed


# Differences between versions of kube-scheduler: the parts that are removed from cases, and a case of each difference.

LOCKED = {path.stem for path in (PROJECT / "tests" / "kubernetes").glob("*.mod")}


def test_cases_stay_unchanged_for_the_version_that_berth_implements() -> None:
    assert VERSION in LOCKED
    assert not any(VERSION in difference.versions for difference in DIFFERENCES)
    assert comparable(drawn := case(1, Family.FILTER, 1), VERSION) is drawn


def test_differences_name_locked_versions_and_each_has_a_case() -> None:
    assert {path.stem for path in CASES.iterdir()} == {difference.name for difference in DIFFERENCES}
    assert all(difference.versions <= LOCKED for difference in DIFFERENCES)


def test_at_least_a_quarter_of_the_cases_can_be_compared_unchanged() -> None:
    drawn = list(cases(1, Family.FILTER, 200))
    for version in sorted(LOCKED):
        whole = sum(comparable(each, version) == each for each in drawn)
        assert whole >= len(drawn) / 4, version
