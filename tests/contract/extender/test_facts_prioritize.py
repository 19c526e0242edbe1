"""Facts 18 to 21 and 28 of docs/reference/extender-contract.md: the answers of prioritize."""

from __future__ import annotations

import re

import pytest

from tests.builders.nodes import labelled, labelled_object, node, node_object
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import Verbs


@pytest.fixture
def verbs() -> Verbs:
    return Verbs(
        [
            labelled("n10", "10"),
            labelled("n300", "300"),
            labelled("below", "-5"),
            labelled("zero", "0"),
            labelled("padded", "007"),
            node("plain"),
            labelled("worded", "high"),
        ]
    )


def test_fact_18_returns_array_of_host_and_score(verbs: Verbs) -> None:
    assert verbs.ask("prioritize", cache_mode(["n10", "below"])).text == (
        '[{"Host":"n10","Score":10},{"Host":"below","Score":-5}]'
    )


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(cache_mode(["n10", "plain", "n10", "n10"]), id="cache mode"),
        pytest.param(
            full_mode([labelled_object("n10", "10"), node_object("plain"), labelled_object("n10", "10")]), id="full"
        ),
    ],
)
def test_fact_18_returns_each_host_once(verbs: Verbs, request_body: dict[str, object]) -> None:
    hosts = [entry["Host"] for entry in verbs.ask("prioritize", request_body).json]
    assert hosts == ["n10", "plain"]


@pytest.mark.parametrize("value", ["10", "-3", "007", "999999999999999", "-999999999999999", "0", "-0"])
def test_fact_19_scores_are_integer_literals(value: str) -> None:
    text = Verbs([labelled("n", value)]).ask("prioritize", cache_mode(["n", "new"])).text
    literals = re.findall(r'"Score":([^,}]*)', text)
    assert len(literals) == 2
    assert all(re.fullmatch(r"-?(0|[1-9][0-9]*)", literal) for literal in literals)
    assert literals[0] == str(int(value))


def test_fact_20_failed_prioritize_is_logged_and_counted(
    verbs: Verbs, log_lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    verbs.send("prioritize", "{")
    assert [(entry["verb"], entry["outcome"], entry["Failures"]) for entry in log_lines.all()] == [
        ("prioritize", "failure-bad-request", [1.0])
    ]


@pytest.mark.parametrize(
    ("names", "scores"),
    [
        pytest.param(["n10", "plain"], {"n10": 10, "plain": 0}, id="a node without the label"),
        pytest.param(["n10", "worded"], {"n10": 10, "worded": 0}, id="a node with a non-integer label"),
        pytest.param(["new", "n10"], {"n10": 10, "new": 0}, id="a node unknown to the cache"),
        pytest.param(["plain", "new"], {"plain": 0, "new": 0}, id="only such nodes"),
    ],
)
def test_fact_21_returns_every_host_of_request(verbs: Verbs, names: list[str], scores: dict[str, int]) -> None:
    answer = verbs.ask("prioritize", cache_mode(names)).json
    assert {entry["Host"]: entry["Score"] for entry in answer} == scores
    assert [entry["Host"] for entry in answer] == names


def test_fact_21_returns_every_node_of_full_request(verbs: Verbs) -> None:
    request = full_mode([node_object("plain"), labelled_object("n7", "7"), node_object("odd", {"a": None})])
    assert verbs.ask("prioritize", request).json == [
        {"Host": "plain", "Score": 0},
        {"Host": "n7", "Score": 7},
        {"Host": "odd", "Score": 0},
    ]


def test_fact_21_scores_every_host_equally_for_exempt_pod(verbs: Verbs) -> None:
    request = cache_mode(["n10", "plain"], pod_object(namespace="kube-system"))
    assert verbs.ask("prioritize", request).json == [{"Host": "n10", "Score": 0}, {"Host": "plain", "Score": 0}]


def test_fact_28_prioritize_returns_500_if_the_cache_is_unreadable() -> None:
    assert Verbs(nodes=None).ask("prioritize", cache_mode(["n10"])).status == 500
