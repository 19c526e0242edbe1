"""The decisions of a stack as its console reads them from the table that the verbs write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.store import ActiveConfiguration
from berth.decisions.background import BackgroundRecorder
from berth.decisions.dynamodb_table import DynamoDBDecisionTable
from berth.decisions.repeatable import RepeatableEncoder
from berth.extender.decision import BindDecision
from berth.extender.outcomes import BindOutcome
from berth.extender.ports import UNREAD_CACHE, Binding
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.decisions.pod_rotation import AFTER_SECONDS
from berth_cli.console.decisions.polled import LOOK_SECONDS
from berth_cli.console.decisions.stack import StackDecisions
from berth_cli.console.documents.not_read import NotRead
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.console.cases import NOW, pod, snapshot

IN_TABLE = ActiveConfiguration.of(BerthConfiguration.model_validate({"decisions": "table"}))
NODES = [labelled("a", "10"), labelled("b", "20"), node("c")]


class Stack:
    """Verbs whose functions write to the table, and a console that reads it. `seconds`: of the console's clock."""

    def __init__(self, client: DynamoDBClient, name: str, configured: ActiveConfiguration = IN_TABLE) -> None:
        self._table, self._configured = DynamoDBDecisionTable(client, name), configured
        self.now, self.seconds = NOW, 0.0
        self.observed: ObservedCluster | None = None
        self.decisions = StackDecisions("the stack s", self._table, lambda: self.observed, lambda: self.seconds)

    def decide(self, pod_name: str, verb: str = "filter", nodes: Sequence[NodeInfo] = NODES) -> None:
        """A call, at the next second, written at once."""
        recorder = self._recorder()
        request = cache_mode([each.name for each in nodes], pod_object(pod_name))
        Verbs(nodes, recorder=recorder).ask(verb, request)
        recorder.close()

    def bind(self, pod_name: str, node_name: str) -> None:
        recorder, binding = self._recorder(), Binding("ml", pod_name, f"uid-{pod_name}", node_name)
        recorder.record("bind", BindOutcome.BOUND, BindDecision(binding, "", UNREAD_CACHE), 2.0)
        recorder.close()

    def _recorder(self) -> BackgroundRecorder:
        self.now += 1
        return BackgroundRecorder(self._table.put, lambda: self.now, print, repeatable=RepeatableEncoder().encoded)

    def shows(self, *pods: Pod, nodes: Iterable[NodeInfo] = NODES) -> None:
        """From now on. A look is due."""
        self.observed = ObservedCluster(snapshot(nodes, pods), NOW, self._configured)
        self.seconds += LOOK_SECONDS

    def after(self, number: int) -> Sequence[Mapping[str, Any]]:
        found = self.decisions.after(number)
        assert not isinstance(found, NotRead), found
        return found

    def details(self, number: int) -> Mapping[str, Any]:
        found = self.decisions.details(number)
        assert found is not None
        return found


def waiting(name: str) -> Pod:
    return pod(name, namespace="ml")


def placed(name: str, on: str) -> Pod:
    return pod(name, on, namespace="ml")


def called(found: Iterable[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    return [(each["number"], each["verb"], each["name"]) for each in found]


def test_decisions_of_waiting_pods_come_as_they_are_written(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    stack.shows(waiting("p"), waiting("q"))
    assert called(stack.after(0)) == [(1, "filter", "p")]
    stack.decide("q")
    stack.decide("p")
    stack.seconds += LOOK_SECONDS
    assert called(stack.after(1)) == [(2, "filter", "q"), (3, "filter", "p")]
    stack.seconds += LOOK_SECONDS
    assert stack.after(3) == []


def test_pod_that_got_a_node_shows_its_last_decisions(client: DynamoDBClient, name: str) -> None:
    """Also those that a function writes later, and those of a pod that never was seen without a node."""
    stack = Stack(client, name)
    stack.shows(waiting("p"))
    assert stack.after(0) == []
    for each in ("p", "quick"):
        stack.decide(each)
        stack.decide(each, verb="prioritize")
    stack.shows(placed("p", "b"), placed("quick", "b"))
    assert [each for _, *each in called(stack.after(0))] == [
        ["filter", "p"],
        ["prioritize", "p"],
        ["filter", "quick"],
        ["prioritize", "quick"],
    ]
    stack.bind("p", "b")
    stack.seconds += AFTER_SECONDS[-1]
    assert called(stack.after(4)) == [(5, "bind", "p")]


def test_record_that_is_written_late_is_shown(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.now += 20
    stack.decide("p", verb="prioritize")
    stack.shows(waiting("p"))
    assert called(stack.after(0)) == [(1, "prioritize", "p")]
    stack.now -= 10
    stack.decide("p")
    stack.seconds += LOOK_SECONDS
    assert called(stack.after(1)) == [(2, "filter", "p")]


def test_decision_is_shown_with_every_node(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    many = [*NODES, *(node(f"z{number}") for number in range(9))]
    stack.decide("p", nodes=many)
    stack.decide("p", verb="prioritize", nodes=many)
    stack.shows(waiting("p"), nodes=many)
    stack.after(0)
    [rejected] = stack.details(1)["rejected"]
    assert (rejected["plugin"], rejected["count"]) == ("NodePriorityLabel", 10)
    assert rejected["nodes"] == ["c", *(f"z{number}" for number in range(9))]
    assert stack.details(1)["passed"] == ["a", "b"]
    assert {each["node"]: each["score"] for each in stack.details(2)["scores"]}["b"] == 20
    assert len(stack.details(2)["scores"]) == len(many)


def test_decision_on_other_nodes_is_shown_with_those_that_its_record_names(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    many = [*NODES, *(node(f"z{number}") for number in range(9))]
    stack.decide("p", nodes=many)
    stack.shows(waiting("p"))
    stack.after(0)
    [rejected] = stack.details(1)["rejected"]
    assert (rejected["count"], rejected["nodes"], stack.details(1)["passed"]) == (10, ["c", "z0", "z1"], [])


def test_calls_are_those_of_the_records(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    stack.bind("p", "a")
    stack.shows(placed("p", "a"))
    found = stack.decisions.calls()
    assert not isinstance(found, NotRead)
    assert [(each.at, each.verb) for each in found] == [(NOW + 1, "filter"), (NOW + 2, "bind")]
    assert "at most 10 a second" in stack.decisions.sampling


def test_stack_that_keeps_none_in_its_table_says_what_to_apply(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name, ActiveConfiguration.of(BerthConfiguration()))
    stack.shows(waiting("p"))
    reason = NotRead("the stack s keeps no decisions in its table: decisions is log; apply decisions: table")
    assert (stack.decisions.after(0), stack.decisions.calls()) == (reason, reason)


def test_table_that_cannot_be_read_is_a_reason_and_what_was_read_stays(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    stack.shows(waiting("p"))
    stack.after(0)
    stack._table._table = "no-table"
    stack.seconds += LOOK_SECONDS
    found = stack.decisions.after(0)
    assert isinstance(found, NotRead)
    assert "the table does not exist" in found.reason
    assert stack.details(1)["name"] == "p"


def test_decisions_that_judged_a_node_are_found_by_all_verdicts(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    many = [*NODES, *(node(f"z{number}") for number in range(9))]
    stack.decide("p", nodes=many)
    stack.decide("p", nodes=NODES)
    stack.bind("p", "a")
    stack.shows(waiting("p"), nodes=NODES)
    stack.after(0)
    stack.shows(waiting("p"), nodes=many)
    stack.after(0)
    assert "z8" not in str(stack.after(0)[0])
    assert [stack.decisions.of_node(each) for each in ("z8", "c", "nobody")] == [[1], [1, 2], []]
