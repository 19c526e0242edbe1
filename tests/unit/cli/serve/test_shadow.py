"""A second policy on live decisions: what it does to the pods is counted, and no answer depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import Any

import orjson
import pytest

from berth.runtime.http.endpoint import EndpointSettings
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import Feasibility
from berth.scheduling.policy import Policy
from berth_cli.serve.shadow import MOST_WAITING, ROUTE, ShadowEndpoint, ShadowPolicy
from tests.builders.events import http_event
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.verbs import Verbs

FULL: Mapping[str, Any] = {"profile": "full"}
LABELLED: Mapping[str, Any] = {"profile": "label-priority"}


def shadowed(
    live: Mapping[str, Any], shadow: Mapping[str, Any] | Policy, one_of: int = 1
) -> tuple[ShadowPolicy, Verbs]:
    """Its first decision is over: it only loads what the policy reads."""
    policy = shadow if isinstance(shadow, Policy) else BerthConfiguration.model_validate(shadow).policy()
    found = ShadowPolicy(policy, lambda: None, lambda: 5.0, one_of)
    verbs = Verbs([], configuration=BerthConfiguration.model_validate(live), recorder=found)
    nodes = [node_with("plain"), node_with("good", {PRIORITY: "9"}), node_with("fair", {PRIORITY: "1"})]
    verbs.cluster.publish("nodes", [{key: value for key, value in each.items() if key != "kind"} for each in nodes])
    verbs.ask("filter", cache_mode(["good"]))
    return found, verbs


@pytest.mark.parametrize(
    ("live", "shadow", "names", "result"),
    [
        pytest.param(LABELLED, LABELLED, ["good", "fair"], "same", id="the same node"),
        pytest.param(FULL, LABELLED, ["plain"], "newly-pending", id="no node any more"),
        pytest.param(LABELLED, FULL, ["plain"], "newly-placed", id="a node at last"),
    ],
)
def test_counts_what_the_second_policy_does(
    live: Mapping[str, Any], shadow: Mapping[str, Any], names: list[str], result: str
) -> None:
    found, verbs = shadowed(live, shadow)
    verbs.ask("filter", cache_mode(names, pod_object("p", requests={"cpu": "1"})))
    found.close()
    assert found.document()["decisions"] == {result: 1}
    assert f'berth_shadow_decisions_total{{result="{result}"}} 1' in list(found.lines())


def test_keeps_the_disagreements_with_the_rules_that_reject() -> None:
    found, verbs = shadowed(FULL, LABELLED)
    verbs.ask("filter", cache_mode(["plain"], pod_object("p", requests={"cpu": "1"})))
    found.close()
    event = {**http_event(None, ROUTE), "rawQueryString": ""}
    answer = ShadowEndpoint(EndpointSettings(), found).handle(event)
    assert orjson.loads(answer["body"])["disagreements"] == [
        {
            "time": 5.0,
            "namespace": "ml",
            "name": "p",
            "result": "newly-pending",
            "before": "plain",
            "after": None,
            "rules": [
                {
                    "plugin": "NodePriorityLabel",
                    "code": "PriorityLabelMissing",
                    "reason": f"node(s) didn't have the priority label {PRIORITY}",
                    "nodes": 1,
                }
            ],
        }
    ]


def test_judges_a_sample_of_the_calls_of_filter_in_node_cache_mode() -> None:
    found, verbs = shadowed(FULL, FULL, one_of=2)
    for number in range(4):
        verbs.ask("filter", cache_mode(["good"], pod_object(f"p{number}")))
    verbs.ask("prioritize", cache_mode(["good"]))
    verbs.ask("filter", full_mode([{"metadata": {"name": "good"}}]))
    found.close()
    assert found.document()["decisions"] == {"same": 2}


@pytest.mark.parametrize("computes", [False, True], ids=["waits", "computes"])
def test_no_call_waits_for_the_second_policy(computes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it computes it shares the interpreter's lock with the calls. What finds no room is counted."""
    begun, released = Event(), Event()
    policy = BerthConfiguration().policy()
    feasibility = policy.feasibility

    def hang(*arguments: Any, **named: Any) -> Feasibility:
        begun.set()
        while not released.is_set():
            if not computes:
                released.wait()
        return feasibility(*arguments, **named)

    monkeypatch.setattr(policy, "feasibility", hang)
    shadow, verbs = shadowed(LABELLED, policy)
    verbs.ask("filter", cache_mode(["good"], pod_object("first")))
    begun.wait()
    answers = [verbs.ask("filter", cache_mode(["good"])).json["NodeNames"] for _ in range(3 * MOST_WAITING)]
    assert shadow.document()["decisions"] == {"not-judged": 2 * MOST_WAITING}
    released.set()
    shadow.close()
    assert answers == [["good"]] * (3 * MOST_WAITING)
    assert shadow.document()["decisions"] == {"same": MOST_WAITING + 1, "not-judged": 2 * MOST_WAITING}
