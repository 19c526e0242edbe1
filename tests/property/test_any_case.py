"""Any cluster is evaluated, or the response names the defect."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import Code
from berth_cli.sources.dump.objects import read_objects
from tests.builders.requests import cache_mode, full_mode, victims_in_full
from tests.fakes.verbs import Verbs
from tests.parity import answers
from tests.parity.generator.cases import case as generated
from tests.parity.generator.features import Family
from tests.property.json_values import changed, json_values

pytestmark = pytest.mark.long

FULL = BerthConfiguration(profile="full")
CODES = {code.value for code in Code}

cases = st.builds(generated, st.just(1), st.sampled_from(Family), st.integers(0, 999))


def is_answer(answer: Any) -> None:
    assert list(answer) == ["verdicts", "scores", "total", "preemption", "error"]
    assert answer["error"] is None or (isinstance(answer["error"], str) and answer["error"])
    for verdict in answer["verdicts"].values():
        for status in (verdict, *verdict["all"].values()):
            assert status["code"] in CODES
            assert (status["code"] == "Success") is not bool(status["reasons"])
    for scores in answer["scores"].values():
        assert all(0 <= score <= 100 for score in scores.values())
        assert scores.keys() == answer["total"].keys() <= answer["verdicts"].keys()


@given(cases)
def test_evaluates_generated_case(whole: dict[str, Any]) -> None:
    answer = orjson.loads(orjson.dumps(answers.answer(whole)))
    is_answer(answer)
    nodes = {each["metadata"]["name"] for each in whole["objects"] if each["kind"] == "Node"}
    assert answer["error"] is not None or answer["verdicts"].keys() == nodes


@given(st.data(), cases)
def test_evaluates_mutated_case(data: st.DataObject, whole: dict[str, Any]) -> None:
    is_answer(orjson.loads(orjson.dumps(answers.answer(data.draw(changed(whole))))))


@given(st.data(), cases)
def test_cache_stays_readable_with_a_mutated_object(data: st.DataObject, whole: dict[str, Any]) -> None:
    objects = list(whole["objects"])
    at = data.draw(st.integers(0, len(objects) - 1))
    objects[at] = {**data.draw(changed(objects[at]).filter(is_an_object)), "kind": objects[at]["kind"]}
    is_answer(orjson.loads(orjson.dumps(answers.answer({**whole, "objects": objects}))))


def is_an_object(value: Any) -> bool:
    return isinstance(value, dict)


@given(json_values)
def test_handles_any_json_value(value: Any) -> None:
    answer = answers.answer(value)
    is_answer(answer)
    # Of these values only one with a pod is a case at all: of no nodes, and nothing is wrong with that.
    assert answer["error"] or "pod" in value


def request(verb: str, nodes: list[dict[str, Any]], pods: list[dict[str, Any]], *, in_full: bool) -> dict[str, Any]:
    names = [node["metadata"]["name"] for node in nodes]
    if verb == "preempt":
        return victims_in_full(dict.fromkeys(names, pods[1:]), pod=pods[0])
    return full_mode(nodes, pods[0]) if in_full else cache_mode(names, pods[0])


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize", "preempt"])
@given(data=st.data(), whole=cases, in_full=st.booleans())
def test_verbs_with_full_profile_handle_any_cluster(
    verb: str, data: st.DataObject, whole: dict[str, Any], *, in_full: bool
) -> None:
    objects = whole["objects"]
    nodes = [each for each in objects if each["kind"] == "Node"]
    pods = [whole["pod"], *(each for each in objects if each["kind"] == "Pod")]
    cached = data.draw(changed(objects).filter(lambda value: isinstance(value, list)))
    asked = data.draw(changed(request(verb, nodes, pods, in_full=in_full)))
    verbs = Verbs(read_objects(cached).nodes, configuration=FULL)
    # json.dumps: orjson has no integers above 64 bits, and a caller may send them.
    answer = verbs.send(verb, json.dumps(asked))
    assert "failed unexpectedly" not in answer.text
    assert answer.status == 200 or (verb in ("prioritize", "preempt") and answer.status == 400)
