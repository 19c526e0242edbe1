"""Facts 12 to 17, 46 and 47 of docs/reference/extender-contract.md: the answers of filter and filter_onlyone."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from berth.scheduling import objects
from berth.scheduling.evaluation import verdicts
from berth.scheduling.plugins import node_priority_label
from tests.builders.nodes import labelled, labelled_object, node, node_object
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.cache_tables import outage
from tests.fakes.verbs import Verbs

NO_LABEL = "node(s) didn't have the priority label priority.lixueduan.com"
NOT_AN_INTEGER = "node(s) had a priority label priority.lixueduan.com that is not an integer"
NOT_IN_CACHE = "node(s) are not in the extender's cache yet"
LABELS_NOT_STRINGS = "node(s) had labels that are not strings"

FILTERS = ("filter", "filter_onlyone")
RESULT_KEYS = ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]


@pytest.fixture
def verbs() -> Verbs:
    return Verbs([labelled("n10", "10"), labelled("n20", "20"), node("plain"), labelled("worded", "high")])


@pytest.mark.parametrize("verb", FILTERS)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["n10", "n20", "plain", "worded"], id="all nodes of the cluster"),
        pytest.param(["plain", "n10"], id="a part of the cluster, in another order"),
        pytest.param(["n10", "never-heard-of"], id="with a name that the cache does not know"),
        pytest.param(["plain", "worded"], id="no feasible node"),
        pytest.param(["n10", "n10"], id="the same name twice"),
    ],
)
def test_fact_12_cache_mode_returns_subset_of_names_and_null_nodes(verbs: Verbs, verb: str, names: list[str]) -> None:
    answer = verbs.ask(verb, cache_mode(names)).json
    assert answer["Nodes"] is None
    assert isinstance(answer["NodeNames"], list)
    assert set(answer["NodeNames"]) <= set(names)
    assert len(set(answer["NodeNames"])) == len(answer["NodeNames"])


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_12_returns_an_empty_array_if_every_name_is_rejected(verbs: Verbs, verb: str) -> None:
    assert '"NodeNames":[]' in verbs.ask(verb, cache_mode(["plain"])).text


def test_fact_12_keeps_order_of_request(verbs: Verbs) -> None:
    assert verbs.ask("filter", cache_mode(["n20", "plain", "n10"])).json["NodeNames"] == ["n20", "n10"]


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_13_full_mode_returns_objects_unchanged(verbs: Verbs, verb: str) -> None:
    best = labelled_object("n30", "30") | {"unknown": {"kept": [1, 2.5, None, "ü", True]}}
    request = full_mode([node_object("plain"), best])
    answer = verbs.ask(verb, request).json
    assert answer["NodeNames"] is None
    assert answer["Nodes"] == {"metadata": {}, "items": [best]}
    assert answer["FailedAndUnresolvableNodes"] == {"plain": NO_LABEL}


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_13_full_mode_returns_an_empty_list_if_every_node_is_rejected(verbs: Verbs, verb: str) -> None:
    answer = verbs.ask(verb, full_mode([node_object("plain")])).json
    assert answer["Nodes"] == {"metadata": {}, "items": []}
    assert answer["NodeNames"] is None


def test_fact_13_full_mode_evaluates_the_request_without_cache() -> None:
    for verbs in (Verbs(nodes=None), Verbs(interrupted={"head": outage})):
        answer = verbs.ask("filter", full_mode([labelled_object("n10", "10")])).json
        assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["n10"]
        # The head names the configuration in force; nothing else is read from the table.
        assert verbs.table.calls == ["head"]


def test_fact_13_full_mode_uses_labels_from_the_request(verbs: Verbs) -> None:
    answer = verbs.ask("filter", full_mode([node_object("n10"), labelled_object("plain", "5")])).json
    assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["plain"]
    assert answer["FailedAndUnresolvableNodes"] == {"n10": NO_LABEL}


@pytest.mark.parametrize("verb", FILTERS)
@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(cache_mode(["plain", "worded", "new"]), id="cache mode"),
        pytest.param(full_mode([node_object("plain")]), id="full mode"),
    ],
)
def test_fact_14_infeasible_pod_is_not_an_error(verbs: Verbs, verb: str, request_body: Mapping[str, object]) -> None:
    assert verbs.ask(verb, request_body).error == ""


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_14_unreadable_cache_returns_error_with_cause(verb: str) -> None:
    verbs = Verbs(interrupted={"head": outage})
    answer = verbs.ask(verb, cache_mode(["n10"]))
    assert answer.status == 200
    assert answer.error == "node cache table berth-cache: the table is throttled (ThrottlingException)"
    assert answer.json["NodeNames"] == []


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_14_empty_cache_returns_error_with_remedy(verb: str) -> None:
    assert Verbs(nodes=None).ask(verb, cache_mode(["n10"])).error == (
        "the node cache is empty: no watcher has published yet; is its schedule enabled?"
    )


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_15_every_rejected_node_is_unresolvable(verbs: Verbs, verb: str) -> None:
    answer = verbs.ask(verb, cache_mode(["plain", "worded", "new"])).json
    assert answer["FailedNodes"] == {}
    assert answer["FailedAndUnresolvableNodes"] == {"plain": NO_LABEL, "worded": NOT_AN_INTEGER, "new": NOT_IN_CACHE}


def test_fact_15_malformed_node_is_unresolvable_and_other_nodes_are_evaluated(verbs: Verbs) -> None:
    answer = verbs.ask("filter", full_mode([node_object("odd", {"a": 1}), labelled_object("n10", "10")])).json
    assert answer["FailedNodes"] == {}
    assert answer["FailedAndUnresolvableNodes"] == {"odd": LABELS_NOT_STRINGS}
    assert [item["metadata"]["name"] for item in answer["Nodes"]["items"]] == ["n10"]


def test_fact_15a_nominated_node_without_label_stays_unresolvable(verbs: Verbs) -> None:
    """The node does not get the label when its victims end; fact 15a covers only causes that end with the victims."""
    request = cache_mode(["plain"], pod_object(nominated_node="plain"))
    answer = verbs.ask("filter", request).json
    assert answer["FailedNodes"] == {}
    assert answer["FailedAndUnresolvableNodes"] == {"plain": NO_LABEL}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["n10", "plain", "worded", "new", "n20"], id="nodes of every kind"),
        pytest.param(["plain"], id="one rejected node"),
        pytest.param(["n10"], id="one feasible node"),
        pytest.param(["plain", "plain", "n10", "n10"], id="each name twice"),
        pytest.param([""], id="an empty name"),
    ],
)
def test_fact_16_every_name_passes_or_has_a_reason(verbs: Verbs, names: list[str]) -> None:
    answer = verbs.ask("filter", cache_mode(names)).json
    failed = answer["FailedNodes"] | answer["FailedAndUnresolvableNodes"]
    assert set(answer["NodeNames"]) | set(failed) == set(names)
    assert set(answer["NodeNames"]) & set(failed) == set()
    assert all(failed.values())


def test_fact_16_filter_onlyone_gives_reasons_for_rejected_nodes_only(verbs: Verbs) -> None:
    answer = verbs.ask("filter_onlyone", cache_mode(["n10", "n20", "plain"])).json
    assert answer["NodeNames"] == ["n20"]
    assert answer["FailedNodes"] == {}
    assert answer["FailedAndUnresolvableNodes"] == {"plain": NO_LABEL}


def test_fact_16_response_has_exactly_the_contract_keys(verbs: Verbs) -> None:
    assert list(verbs.ask("filter", cache_mode(["n10", "plain"])).json) == RESULT_KEYS
    assert list(verbs.ask("filter_onlyone", cache_mode(["n10", "plain"])).json) == RESULT_KEYS
    assert list(verbs.send("filter", "no JSON").json) == RESULT_KEYS


@pytest.mark.parametrize(
    "reason",
    [
        node_priority_label.REASON_NO_LABEL,
        node_priority_label.REASON_NOT_AN_INTEGER,
        verdicts.NOT_IN_CACHE.message,
        objects.LABELS_NOT_STRINGS,
    ],
)
def test_fact_17_reasons_do_not_contain_numbers(reason: str) -> None:
    assert re.search(r"[0-9]", reason) is None


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        pytest.param([node("first"), node("second")], ["first", "second"], id="no label"),
        pytest.param([labelled("first", "1.5"), labelled("second", "x")], ["first", "second"], id="not an integer"),
        pytest.param([], ["first", "second"], id="unknown to the cache"),
        pytest.param([node("first", defect="d"), node("second", defect="d")], ["first", "second"], id="defective"),
    ],
)
def test_fact_17_reasons_do_not_contain_node_or_pod_names(nodes: list[objects.NodeInfo], names: list[str]) -> None:
    verbs = Verbs(nodes)
    answers = [verbs.ask("filter", cache_mode(names, pod_object(name))).json for name in ("one-pod", "another-pod")]
    reasons = {reason for answer in answers for reason in answer["FailedAndUnresolvableNodes"].values()}
    assert len(reasons) == 1


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_17_same_pod_and_cause_give_same_bytes(verbs: Verbs, verb: str) -> None:
    request = cache_mode(["worded", "n10", "new", "plain", "n20"])
    assert len({verbs.ask(verb, request).text for _ in range(5)}) == 1


@pytest.mark.parametrize("verb", FILTERS)
def test_fact_17_warm_and_cold_environments_give_same_bytes(verbs: Verbs, verb: str) -> None:
    request = cache_mode(["worded", "n10", "new", "plain", "n20"])
    cold = Verbs([labelled("n10", "10"), labelled("n20", "20"), node("plain"), labelled("worded", "high")])
    verbs.ask(verb, request)
    assert verbs.ask(verb, request).text == cold.ask(verb, request).text


def test_fact_46_filter_returns_a_single_feasible_node(verbs: Verbs) -> None:
    """The scheduler does not call prioritize for a single node, so nothing may depend on that call."""
    assert verbs.ask("filter", cache_mode(["n10"])).json["NodeNames"] == ["n10"]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        pytest.param(["n10", "n20"], ["n20"], id="the highest label"),
        pytest.param(["n20", "n10"], ["n20"], id="the highest label in another order"),
        pytest.param(["n10", "plain"], ["n10"], id="among the names of the request only"),
        pytest.param(["plain", "worded"], [], id="no node if none is feasible"),
    ],
)
def test_fact_47_filter_onlyone_chooses_among_names_given(verbs: Verbs, names: list[str], chosen: list[str]) -> None:
    assert verbs.ask("filter_onlyone", cache_mode(names)).json["NodeNames"] == chosen


def test_fact_47_equal_scores_are_resolved_by_name() -> None:
    verbs = Verbs([labelled("b", "7"), labelled("a", "7"), labelled("c", "7")])
    for names in (["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]):
        assert verbs.ask("filter_onlyone", cache_mode(names)).json["NodeNames"] == ["a"]


@pytest.mark.parametrize("name", ["n10", "plain", "worded", "new"])
def test_fact_47_filter_onlyone_handles_a_single_name_like_filter(verbs: Verbs, name: str) -> None:
    request = cache_mode([name])
    assert verbs.ask("filter_onlyone", request).text == verbs.ask("filter", request).text


def test_fact_47_filter_onlyone_keeps_node_of_daemon_set_pod(verbs: Verbs) -> None:
    request = cache_mode(["plain"], pod_object(controller_kind="DaemonSet"))
    assert verbs.ask("filter_onlyone", request).json["NodeNames"] == ["plain"]
