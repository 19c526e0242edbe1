"""Any cluster is evaluated, or the response names the defect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.sources.dump.objects import read_objects
from tests.builders.requests import cache_mode, full_mode, victims_in_full
from tests.fakes.verbs import Verbs
from tests.parity.generator.cases import case as generated
from tests.parity.generator.features import Family
from tests.property.json_values import changed

pytestmark = pytest.mark.long

FULL = BerthConfiguration(profile="full")
cases = st.builds(generated, st.just(1), st.sampled_from(Family), st.integers(0, 999))


def request(verb: str, nodes: list[dict[str, Any]], pods: list[dict[str, Any]], *, in_full: bool) -> dict[str, Any]:
    names = [node["metadata"]["name"] for node in nodes]
    if verb == "preempt":
        return victims_in_full(dict.fromkeys(names, pods[1:]), pod=pods[0])
    return full_mode(nodes, pods[0]) if in_full else cache_mode(names, pods[0])


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize", "preempt"])
@given(data=st.data(), whole=cases, in_full=st.booleans())
def test_verbs_with_the_full_profile_handle_any_cluster(
    verb: str, data: st.DataObject, whole: dict[str, Any], *, in_full: bool
) -> None:
    objects = whole["objects"]
    nodes = [each for each in objects if each["kind"] == "Node"]
    pods = [whole["pod"], *(each for each in objects if each["kind"] == "Pod")]
    cached = data.draw(changed(objects).filter(lambda value: isinstance(value, list)))
    asked = data.draw(changed(request(verb, nodes, pods, in_full=in_full)))
    verbs = Verbs(read_objects(cached).nodes, configuration=FULL)
    # json.dumps, because orjson cannot encode integers above 64 bits, which a caller may send.
    answer = verbs.send(verb, json.dumps(asked))
    assert "failed unexpectedly" not in answer.text
    assert answer.status == 200 or (verb in ("prioritize", "preempt") and answer.status == 400)
