"""The decisions of a running server, as a console reads them again and again."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.console.decisions.polled import LOOK_SECONDS, MOST_KEPT
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.running_server.decisions import ServerDecisions
from tests.fakes.doctor import answered
from tests.unit.cli.console.running_server.cases import REFUSED, Routes

REASON = {"code": "c", "reason": "Insufficient cpu", "plugin": "NodeResourcesFit", "count": 5, "nodes": ["a", "b"]}
BY_PLUGIN = {"NodePriorityLabel": 7}


def record(name: str, at: float, **more: object) -> dict[str, object]:
    """As GET /decisions has it."""
    return {
        "version": 1,
        "reasonCodesVersion": 1,
        "time": at,
        "verb": "filter",
        "outcome": "ok",
        "milliseconds": 1.5,
        "configurationHash": "",
        "cacheVersion": 3,
        "cacheAgeSeconds": 0.5,
        "namespace": "ml",
        "name": name,
        "uid": f"uid-{name}",
        "profile": "full",
        "nodes": 6,
        "feasible": 1,
        "chosen": None,
        "reasons": [REASON],
        "best": [{"node": "c", "score": 7, "byPlugin": None}],
        "victims": {},
        "error": "",
        **more,
    }


def header(name: str, at: float) -> dict[str, object]:
    """As GET /decisions?node=NAME has it."""
    left_out = {"profile", "nodes", "feasible", "chosen", "reasons", "best", "victims", "error"}
    return {key: value for key, value in record(name, at).items() if key not in left_out}


class Following:
    """`seconds`: of the monotonic clock."""

    def __init__(self, *records: dict[str, object]) -> None:
        self.endpoint = Routes()
        self.seconds = 0.0
        self.decisions = ServerDecisions(self.endpoint.server, lambda: self.seconds)
        self.answers(*records)

    def answers(self, *records: dict[str, object]) -> None:
        self.endpoint.routes["decisions"] = answered({"kept": len(records), "since": 1.0, "decisions": list(records)})
        self.seconds += LOOK_SECONDS

    def after(self, number: int) -> list[tuple[object, object]]:
        found = self.decisions.after(number)
        assert not isinstance(found, NotRead)
        return [(each["number"], each["name"]) for each in found]


def test_each_decision_is_numbered_once() -> None:
    following = Following(record("p", 1.0), record("q", 2.0))
    assert following.after(0) == [(1, "p"), (2, "q")]
    following.answers(record("q", 2.0), record("r", 3.0))
    assert following.after(2) == [(3, "r")]
    assert following.after(0) == [(1, "p"), (2, "q"), (3, "r")]


def test_decisions_of_a_pod_are_those_that_were_read() -> None:
    following = Following(record("p", 1.0), record("q", 2.0), record("p", 3.0, verb="bind"))
    assert following.decisions.of_pod("ml", "p") == []
    following.after(0)
    found = following.decisions.of_pod("ml", "p")
    assert [(each["verb"], each["configurationHash"]) for each in found] == [("filter", ""), ("bind", "")]
    assert following.decisions.of_pod("web", "p") == []


def test_server_is_asked_once_a_second_however_many_pages_look() -> None:
    following = Following(record("p", 1.0))
    following.after(0)
    following.seconds += LOOK_SECONDS / 2
    following.after(0)
    assert following.endpoint.asked == ["decisions"]
    following.seconds += LOOK_SECONDS / 2
    following.after(0)
    assert following.endpoint.asked == ["decisions", "decisions"]


def test_details_have_the_nodes_that_the_record_names() -> None:
    following = Following(record("p", 1.0))
    following.after(0)
    found: Any = following.decisions.details(1)
    assert [(each["count"], each["nodes"]) for each in found["rejected"]] == [(5, ["a", "b"])]
    assert following.decisions.details(2) is None


@pytest.mark.parametrize(
    ("at", "by_plugin"),
    [
        pytest.param(1.0, BY_PLUGIN, id="the decision is there"),
        pytest.param(2.0, None, id="a later one of the pod has replaced it"),
        pytest.param(None, None, id="no answer"),
    ],
)
def test_details_ask_about_the_pod_for_scores_by_plugin(at: float | None, by_plugin: object) -> None:
    following = Following(record("p", 1.0))
    following.after(0)
    if at is not None:
        now = record("p", at, best=[{"node": "c", "score": 7, "byPlugin": BY_PLUGIN}])
        following.endpoint.routes["decisions?pod=ml/p"] = answered({"decisions": [now]})
    found: Any = following.decisions.details(1)
    assert following.endpoint.asked[-1] == "decisions?pod=ml/p"
    assert found["scores"] == [{"node": "c", "score": 7, "byPlugin": by_plugin}]


@pytest.mark.parametrize(
    ("more", "passed"),
    [
        pytest.param({}, [], id="a filter, which counts them"),
        pytest.param({"verb": "filter_onlyone", "chosen": "c"}, ["c"], id="a filter that chooses"),
        pytest.param({"verb": "bind", "chosen": "c", "reasons": []}, ["c"], id="a bind"),
        pytest.param({"verb": "bind", "chosen": "c", "feasible": 0, "reasons": []}, [], id="a bind that failed"),
        pytest.param({"verb": "preempt", "victims": {"a": 2, "b": 1}}, ["a", "b"], id="a preemption"),
    ],
)
def test_details_name_the_nodes_that_the_record_accepts(more: dict[str, object], passed: list[str]) -> None:
    following = Following(record("p", 1.0, **more))
    following.after(0)
    found: Any = following.decisions.details(1)
    assert found["passed"] == passed


def test_calls_are_those_that_were_read() -> None:
    following = Following(record("p", 1.0), record("q", 2.0, verb="bind"))
    found = following.decisions.calls()
    assert not isinstance(found, NotRead)
    assert [(each.at, each.verb, each.milliseconds) for each in found] == [
        (1.0, "filter", 1.5),
        (2.0, "bind", 1.5),
    ]


def test_newest_are_kept() -> None:
    following = Following()
    each_look = (MOST_KEPT + 10) // 10
    for first in range(0, MOST_KEPT + 10, each_look):
        following.answers(*(record("p", float(second)) for second in range(first, first + each_look)))
        following.after(0)
    found = following.decisions.calls()
    assert not isinstance(found, NotRead)
    assert [each.at for each in found] == [float(second) for second in range(10, MOST_KEPT + 10)]
    assert (following.after(0)[0], following.decisions.details(10)) == ((11, "p"), None)


def test_calls_that_were_read_stay_while_the_server_is_away() -> None:
    following = Following(record("p", 1.0))
    before = following.decisions.calls()
    following.endpoint.routes["decisions"] = REFUSED
    following.seconds += LOOK_SECONDS
    assert isinstance(following.decisions.after(0), NotRead)
    assert following.decisions.calls() == before


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(REFUSED, "connection refused", id="no answer"),
        pytest.param(answered({"message": "Not Found"}, 404), "is it a berth serve of this release?", id="no route"),
        pytest.param(
            answered({"decisions": [record("p", 1.0, version=2)]}), "decisions.0.version", id="of a later release"
        ),
        pytest.param(answered({"decisions": [{"version": 1}]}), "decisions.0.time", id="not a record"),
    ],
)
def test_server_without_decisions_says_why(answer: object, reason: str) -> None:
    following = Following()
    following.endpoint.routes["decisions"] = answer  # type: ignore[assignment]
    found = following.decisions.after(0)
    assert isinstance(found, NotRead)
    assert reason in found.reason
    assert following.decisions.calls() == found
    following.answers(record("p", 1.0))
    assert following.after(0) == [(1, "p")]


def test_decisions_of_a_node_are_those_that_the_server_says_and_the_console_has() -> None:
    following = Following(record("p", 1.0), record("q", 2.0), record("r", 3.0))
    following.after(0)
    answer = answered({"node": "n/1", "decisions": [header("q", 2.0), header("gone", 0.5), header("r", 3.0)]})
    following.endpoint.routes["decisions?node=n%2F1"] = answer
    assert following.decisions.of_node("n/1") == [2, 3]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(REFUSED, id="no answer"),
        pytest.param(answered({"decisions": [record("p", 1.0)]}), id="of an earlier release, which answers all"),
        pytest.param(answered({"node": "n1", "decisions": [{"version": 1}]}), id="not a record"),
    ],
)
def test_server_that_does_not_say_which_decisions_judged_a_node_is_not_read(answer: object) -> None:
    following = Following(record("p", 1.0))
    following.after(0)
    following.endpoint.routes["decisions?node=n1"] = answer  # type: ignore[assignment]
    assert isinstance(following.decisions.of_node("n1"), NotRead)
