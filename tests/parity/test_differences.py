"""The comparison sees each kind of difference, and lets pass what kube-scheduler leaves open."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.parity.differences import Difference, differences, preemption_differences, still_differ
from tests.parity.equal_victims import in_berths_order
from tests.parity.generator.features import Family
from tests.parity.responder import Answer, Case

REJECTED = {"code": "Unschedulable", "reasons": ["Insufficient b", "Insufficient a"]}
ACCEPTED: dict[str, Any] = {"code": "Success", "reasons": []}


def answer() -> Answer:
    """One node rejected, two scored, two tied for preemption: more than a real answer has at once."""
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


def changed(path: str, value: object) -> Answer:
    """The answer with another value at a dotted path."""
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
        pytest.param("verdicts.n0.all.NodeResourcesFit", None, "NodeResourcesFit", id="no verdict of a plugin"),
        pytest.param("verdicts.n0.plugin", "NodeName", "first plugin that rejects", id="first plugin"),
        pytest.param("scores.ImageLocality.n2", 5, "score of ImageLocality", id="score"),
        pytest.param("scores", {}, "score of ImageLocality", id="no scores"),
        pytest.param("total.n1", 4, "total score", id="total"),
        pytest.param("error", "no such profile", "error", id="an error of Berth only"),
    ],
)
def test_finds_difference(path: str, value: object, rule: str) -> None:
    assert rule in {difference.rule for difference in differences(Family.SCORE, answer(), changed(path, value))}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("verdicts.n0.reasons", ["Insufficient a", "Insufficient b"], id="order of reasons"),
        pytest.param("verdicts.n1.plugin", "", id="no plugin rejects"),
    ],
)
def test_accepts_documented_differences(path: str, value: object) -> None:
    assert differences(Family.SCORE, answer(), changed(path, value)) == []


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        pytest.param(["NodePorts"], True, id="the rule"),
        pytest.param(["NodePorts", "total score"], True, id="and what follows from it"),
        pytest.param(["NodeName"], False, id="another rule"),
        pytest.param(["NodePorts", "error"], False, id="one side has failed"),
    ],
)
def test_smaller_case_has_the_same_rules(rules: list[str], *, shown: bool) -> None:
    assert still_differ([Difference(rule, "n0", 1, 2) for rule in rules], "NodePorts") is shown


def test_skips_scores_that_kube_scheduler_does_not_compute() -> None:
    oracle = {**answer(), "scores": {}, "total": {}}
    assert differences(Family.SCORE, oracle, answer()) == []


def test_compares_plugin_name_of_errors() -> None:
    oracle = changed("error", 'running PreScore plugin "NodeAffinity": Invalid value')
    assert differences(Family.FILTER, oracle, changed("error", 'running PreScore plugin "NodeAffinity": -5')) == []


@pytest.mark.parametrize(
    ("path", "value", "rules"),
    [
        pytest.param("nominated", "n1", [], id="any tied node may be nominated"),
        pytest.param("nominated", "n2", ["nominated node"], id="no other"),
        pytest.param("nominated", None, ["nominated node"], id="and not none"),
        pytest.param("candidates.n0.victims", ["b", "a"], [], id="victims in any order"),
        pytest.param("candidates.n0.victims", ["a"], ["preemption candidate"], id="other victims"),
        pytest.param("candidates.n0.numPDBViolations", 1, ["preemption candidate"], id="other violations"),
        pytest.param("candidates", {}, ["preemption candidate"], id="a candidate is missing"),
    ],
)
def test_finds_preemption_difference(path: str, value: object, rules: list[str]) -> None:
    found = preemption_differences(answer(), changed(f"preemption.{path}", value))
    assert [difference.rule for difference in found] == rules


def pods(*priorities: int) -> Case:
    """A case of pods p0, p1, … on node n0."""
    objects = [
        {"kind": "Pod", "metadata": {"uid": f"p{index}"}, "spec": {"nodeName": "n0", "priority": priority}}
        for index, priority in enumerate(priorities)
    ]
    return {"objects": objects}


def evicting_the_last(case: Case) -> Answer:
    """A scheduler that evicts whichever pod came last."""
    victims = {"victims": [case["objects"][-1]["metadata"]["uid"]], "numPDBViolations": 0}
    return {"preemption": {"nominated": "n0", "tied": ["n0"], "candidates": {"n0": victims}}}


@pytest.mark.parametrize(
    ("case", "allowed"),
    [
        pytest.param(pods(1, 1), True, id="pods of the same importance may change places"),
        pytest.param(pods(1, 2), False, id="others may not"),
    ],
)
def test_allows_other_victims_only_if_equal(case: Case, *, allowed: bool) -> None:
    berth = {"preemption": {"candidates": {"n0": {"victims": ["p0"], "numPDBViolations": 0}}}}
    oracle = in_berths_order(case, evicting_the_last(case), berth, evicting_the_last)
    assert (oracle["preemption"]["candidates"]["n0"]["victims"] == ["p0"]) is allowed
