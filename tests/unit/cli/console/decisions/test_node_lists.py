"""Every node's verdict of a stored decision."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from berth.decisions.repeatable import RepeatableEncoder
from berth.extender.decision import AnyDecision, Decision, DecisionRecorder
from berth.extender.outcomes import Outcome
from berth.scheduling.objects import NodeInfo
from berth_cli.console.decisions.node_lists import MOST_LISTS, NodeLists, StoredVerdicts, read_verdicts
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.console.cases import snapshot

NODES = [labelled("a", "10"), labelled("b", "20"), node("c"), node("d", defect="unreadable label")]


class Last(DecisionRecorder):
    """Keeps what makes the last decision repeatable."""

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        assert isinstance(decision, Decision)
        self.stored = RepeatableEncoder().encoded(decision) or b""


def stored(verb: str, names: Sequence[str], namespace: str = "ml") -> bytes:
    last = Last()
    Verbs(NODES, recorder=last).ask(verb, cache_mode(names, pod_object(namespace=namespace)))
    return last.stored


def read(data: bytes) -> StoredVerdicts:
    found = read_verdicts(data)
    assert found is not None
    return found


def verdicts(verb: str, data: bytes, nodes: Sequence[NodeInfo] = NODES) -> Any:
    lists = NodeLists()
    lists.note(snapshot(nodes))
    found = read_verdicts(data)
    return found and lists.verdicts(verb, found)


def test_filter_has_the_nodes_of_each_reason_and_those_that_pass() -> None:
    found = verdicts("filter", stored("filter", ["a", "c", "d", "unknown"]))
    assert found["passed"] == ["a"]
    assert [(each["plugin"], each["count"], each["nodes"]) for each in found["rejected"]] == [
        ("NodePriorityLabel", 1, ["c"]),
        ("", 1, ["d"]),
        ("", 1, ["unknown"]),
    ]
    assert all(each["reason"] for each in found["rejected"])


def test_prioritize_has_the_score_of_each_node_of_the_request() -> None:
    found = verdicts("prioritize", stored("prioritize", ["a", "b"]))
    assert (found["scores"], found["rejected"]) == ([{"node": "a", "score": 10}, {"node": "b", "score": 20}], [])


def test_all_nodes_of_the_request_pass_where_no_rule_is_applied() -> None:
    assert verdicts("filter", stored("filter", ["a", "c"], "kube-system"))["passed"] == ["a", "c"]


def changed(data: bytes, **fields: object) -> bytes:
    line, _, numbers = zlib.decompress(data).partition(b"\n")
    return zlib.compress(orjson.dumps({**orjson.loads(line), **fields}) + b"\n" + numbers)


@pytest.mark.parametrize(
    ("fields", "nodes"),
    [
        pytest.param({}, NODES[:2], id="of other nodes"),
        pytest.param({"version": 2}, NODES, id="of a later release"),
        pytest.param({"unknown": ["x"]}, NODES, id="with a number too few"),
    ],
)
def test_decision_that_cannot_be_read_has_no_verdicts(fields: dict[str, object], nodes: Sequence[NodeInfo]) -> None:
    assert verdicts("filter", changed(stored("filter", ["a"]), **fields), nodes) is None


def test_what_no_verb_has_stored_has_no_verdicts() -> None:
    assert read_verdicts(b"no such thing") is None


def test_earlier_lists_are_known_until_there_are_too_many() -> None:
    lists, data = NodeLists(), read(stored("filter", ["a"]))
    lists.note(snapshot(NODES))
    for number in range(MOST_LISTS - 1):
        lists.note(snapshot([node(f"n{number}")]))
    assert lists.verdicts("filter", data) is not None
    lists.note(snapshot(NODES))
    lists.note(snapshot([node("another")]))
    assert lists.verdicts("filter", data) is not None
    for number in range(MOST_LISTS):
        lists.note(snapshot([node(f"n{number}")]))
    assert lists.verdicts("filter", data) is None


@pytest.mark.parametrize(
    ("verb", "names", "node_name", "is_judged"),
    [
        pytest.param("filter", ["a", "c"], "a", True, id="passes"),
        pytest.param("filter", ["a", "c"], "c", True, id="rejected"),
        pytest.param("filter", ["a", "c"], "b", False, id="not in the request"),
        pytest.param("prioritize", ["a", "c"], "c", True, id="has the score 0"),
        pytest.param("filter", ["a", "new"], "new", True, id="unknown to the cache"),
        pytest.param("filter", ["a", "new"], "", False, id="no name"),
        pytest.param("filter", ["a", "new"], "zz", False, id="after the last one"),
    ],
)
def test_judges_the_nodes_of_the_request(verb: str, names: Sequence[str], node_name: str, is_judged: bool) -> None:
    lists = NodeLists()
    lists.note(snapshot(NODES))
    assert lists.judges(node_name, read(stored(verb, names))) is is_judged


def test_judges_no_node_where_its_nodes_are_not_known() -> None:
    assert not NodeLists().judges("a", read(stored("filter", ["a"])))
