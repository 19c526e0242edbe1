"""Responses of the verbs without a usable cache: an error, or a decision on the request alone (`whenStale`)."""

from __future__ import annotations

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, victims_by_uid
from tests.fakes.verbs import Verbs

PASS = BerthConfiguration.model_validate({"nodeCache": {"whenStale": "pass"}})
EXEMPT = {
    "a pod of a DaemonSet": pod_object(controller_kind="DaemonSet"),
    "a pod of kube-system": pod_object(namespace="kube-system"),
    "a system-critical pod": pod_object(priority=2_000_000_000),
}


def stale(configuration: BerthConfiguration | None = None) -> Verbs:
    verbs = Verbs([labelled("n10", "10")], configuration=configuration)
    verbs.clock.advance(1000)
    return verbs


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone"])
def test_when_stale_fail_makes_filter_return_an_error_instead_of_nodes(verb: str) -> None:
    answer = stale().ask(verb, cache_mode(["n10"]))
    assert answer.status == 200
    assert answer.error.startswith("the node cache is of ")
    assert answer.json["NodeNames"] == []


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone"])
def test_when_stale_pass_makes_filter_accept_every_name(verb: str) -> None:
    answer = stale(PASS).ask(verb, cache_mode(["n10", "new"])).json
    assert answer["NodeNames"] == ["n10", "new"]
    assert answer["FailedAndUnresolvableNodes"] == {}
    assert answer["Error"] == ""


def test_when_stale_pass_makes_prioritize_score_every_host_equally() -> None:
    assert stale(PASS).ask("prioritize", cache_mode(["n10", "new"])).json == [
        {"Host": "n10", "Score": 0},
        {"Host": "new", "Score": 0},
    ]


def test_when_stale_pass_makes_preempt_accept_the_proposed_victims() -> None:
    answer = stale(PASS).ask("preempt", victims_by_uid({"n10": ["v1"]})).json
    assert answer["NodeNameToMetaVictims"]["n10"]["Pods"] == [{"UID": "v1"}]


@pytest.mark.parametrize("requesting", [pytest.param(requesting, id=name) for name, requesting in EXEMPT.items()])
@pytest.mark.parametrize("verb", ["filter", "filter_onlyone"])
def test_exempt_pods_pass_without_cache(verb: str, requesting: dict[str, object]) -> None:
    for verbs in (stale(), Verbs(nodes=None)):
        answer = verbs.ask(verb, cache_mode(["n10", "new"], requesting)).json
        assert (answer["NodeNames"], answer["Error"]) == (["n10", "new"], "")
