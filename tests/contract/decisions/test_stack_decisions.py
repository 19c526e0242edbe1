"""The decisions of a stack as its console reads them from the table that the verbs write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.store import ActiveConfiguration
from berth.decisions.recorders import BackgroundRecorder, DynamoDBDecisionTable
from berth.extender.outcomes import BindOutcome
from berth.extender.ports import UNREAD_CACHE
from berth.extender.reply import BindDecision
from berth.pods import Binding
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.console.cluster import NotRead, ObservedCluster
from berth_cli.console.decisions import Decision
from berth_cli.console.stack_decisions import LOOK_SECONDS, StackDecisions
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.console.cases import NOW, pod, snapshot

IN_TABLE = ActiveConfiguration.of(BerthConfiguration.model_validate({"decisions": "table"}))
NODES = [labelled("a", "10"), labelled("b", "20"), node("c")]


class Stack:
    """Verbs whose functions write to the table, and a console that reads it. `seconds`: the console's clock."""

    def __init__(self, client: DynamoDBClient, name: str, configured: ActiveConfiguration = IN_TABLE) -> None:
        self._table, self._configured = DynamoDBDecisionTable(client, name), configured
        self.now, self.seconds = NOW, 0.0
        self.observed: ObservedCluster | None = None
        self.decisions = StackDecisions("the stack s", self._table, lambda: self.observed, lambda: self.seconds)

    def decide(self, pod_name: str, verb: str = "filter", nodes: Sequence[NodeInfo] = NODES) -> None:
        """Call a verb one second later, and write its record at once."""
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
        return BackgroundRecorder(self._table.put, lambda: self.now, print)

    def shows(self, *pods: Pod, nodes: Iterable[NodeInfo] = NODES) -> None:
        self.observed = ObservedCluster(snapshot(nodes, pods), NOW, self._configured)
        self.seconds += LOOK_SECONDS

    def all(self) -> Sequence[Decision]:
        self.seconds += LOOK_SECONDS
        found = self.decisions.all()
        assert not isinstance(found, NotRead), found
        return found

    def details(self, number: int) -> Mapping[str, Any]:
        return next(each.details() for each in self.all() if each.number == number)


def waiting(name: str) -> Pod:
    return pod(name, namespace="ml")


def placed(name: str, on: str) -> Pod:
    return pod(name, on, namespace="ml")


def called(found: Iterable[Decision]) -> list[tuple[int, str, str]]:
    return [(each.number, each.record["verb"], each.record["name"]) for each in found]


def test_new_decisions_of_pending_pods_appear_after_the_next_read(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    stack.shows(waiting("p"), waiting("q"))
    assert called(stack.all()) == [(1, "filter", "p")]
    stack.decide("q")
    stack.decide("p")
    assert called(stack.all()) == [(1, "filter", "p"), (2, "filter", "q"), (3, "filter", "p")]
    assert len(stack.all()) == 3


def test_reads_the_table_once_a_second_for_any_number_of_pages(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.shows(waiting("p"))
    assert stack.all() == []
    stack.decide("p")
    assert stack.decisions.all() == []
    assert called(stack.all()) == [(1, "filter", "p")]


def test_pod_that_is_now_on_a_node_still_shows_its_last_decisions(client: DynamoDBClient, name: str) -> None:
    """Includes decisions that a function writes later, and decisions about a pod never seen as pending."""
    stack = Stack(client, name)
    stack.shows(waiting("p"))
    assert stack.all() == []
    for each in ("p", "quick"):
        stack.decide(each)
        stack.decide(each, verb="prioritize")
    stack.shows(placed("p", "b"), placed("quick", "b"))
    assert [each for _, *each in called(stack.all())] == [
        ["filter", "p"],
        ["prioritize", "p"],
        ["filter", "quick"],
        ["prioritize", "quick"],
    ]
    stack.bind("p", "b")
    assert called(stack.all())[-1] == (5, "bind", "p")


def test_decision_lists_the_nodes_named_in_its_record(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    many = [*NODES, *(node(f"z{number}") for number in range(9))]
    stack.decide("p", nodes=many)
    stack.bind("p", "b")
    stack.shows(waiting("p"))
    [rejected] = stack.details(1)["rejected"]
    assert (rejected["plugin"], rejected["count"], rejected["nodes"]) == ("NodePriorityLabel", 10, ["c", "z0", "z1"])
    assert (stack.details(1)["passed"], stack.details(2)["passed"]) == ([], ["b"])
    judged = {each: [found.number for found in stack.all() if found.judges(each)] for each in ("c", "b", "z8")}
    assert judged == {"c": [1], "b": [2], "z8": []}


def test_records_of_a_pod_include_only_records_already_read(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    stack.decide("q")
    stack.shows(waiting("p"), waiting("q"))
    assert stack.decisions.of_pod("ml", "p") == []
    stack.all()
    assert [(each["verb"], each["name"]) for each in stack.decisions.of_pod("ml", "p")] == [("filter", "p")]


def test_stack_without_decisions_in_its_table_names_the_setting_to_apply(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name, ActiveConfiguration.of(BerthConfiguration()))
    stack.shows(waiting("p"))
    assert stack.decisions.all() == NotRead(
        "the stack s keeps no decisions in its table: decisions is log; apply decisions: table"
    )


def test_record_of_a_later_release_is_not_shown_and_the_remedy_is_named(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    [record] = stack._table.of_pod("ml", "p", 1)
    assert isinstance(record, dict)
    stack._table.put({**record, "version": 99, "time": 1.5})
    stack.shows(waiting("p"))
    assert stack.decisions.all() == NotRead("the stack s has records of a later release: install it here, too")


def test_unreadable_table_is_reported_and_earlier_records_stay(client: DynamoDBClient, name: str) -> None:
    stack = Stack(client, name)
    stack.decide("p")
    stack.shows(waiting("p"))
    stack.all()
    table, stack._table._table = stack._table._table, "no-table"
    stack.seconds += LOOK_SECONDS
    found = stack.decisions.all()
    assert isinstance(found, NotRead)
    assert "the table does not exist" in found.reason
    stack._table._table = table
    assert called(stack.all()) == [(1, "filter", "p")]
