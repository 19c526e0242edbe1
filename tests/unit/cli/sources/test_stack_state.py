"""The tables of a stack: the cluster as its node cache has it, the configuration in force, and the records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES, PODS
from berth.configuration.store import Configurations
from berth.decisions.document import document
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.explanation import report
from berth_cli.explanation.explanation import explain_pod
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import read_target
from berth_cli.server.recent_decisions import RecentDecisions
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.sources.attempts import Attempts, NoRecord
from berth_cli.sources.stack_state import StackState, read_tables
from berth_cli.terminal.input_files import InvalidInput
from tests.builders.nodes import PRIORITY, labelled, node, node_with
from tests.builders.pods import pod_with
from tests.builders.requests import cache_mode
from tests.fakes.published import PublishedCluster
from tests.fakes.verbs import Verbs
from tests.unit.cli.explanation.cases import Object

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
SELECTED: dict[str, Any] = {
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
}
OBJECTS: list[Object] = [
    node_with("a"),
    node_with("b", {PRIORITY: "1"}, taints=[TAINT]),
    node_with("c", {PRIORITY: "1"}),
    pod_with("web", {"app": "web"}, nodeName="c", requests={"cpu": "3"}),
    pod_with("p", requests={"cpu": "2"}),
    pod_with("selecting", requests={"cpu": "1"}, **SELECTED),
]
LABELLED: Mapping[str, Any] = {"profile": "label-priority"}


class Stack:
    """A node cache that a watcher has filled with these objects."""

    def __init__(self, objects: Sequence[Object] = OBJECTS, configuration: Mapping[str, Any] = LABELLED) -> None:
        self.cluster = PublishedCluster()
        self.configuration = BerthConfiguration.model_validate(configuration)
        self.records: list[object] = []
        kept = projections(RequiredFields.of(self.configuration.policy()))
        for resource, kind in ((NODES, "Node"), (PODS, "Pod")):
            found = [kept[resource](deepcopy(dict(each))) for each in objects if each["kind"] == kind]
            self.cluster.publish(resource.name, found)

    def read(self, later: float = 0.0, applied: str = "") -> StackState:
        store = InMemoryConfigurationStore(self.cluster.item)
        if applied:
            store.apply(applied)
        configurations = Configurations(store, lambda: self.configuration)
        now = self.cluster.clock.wall() + later
        return read_tables(self.cluster.table, configurations, lambda: self.records, "the stack s", now)


def explained(objects: Sequence[Object], pod: str, *, is_trimmed: bool = False) -> dict[str, Any]:
    configuration = BerthConfiguration.model_validate(LABELLED)
    dump = [dict(each) for each in objects]
    target = read_target(dump, "there", pod, configuration.counting, is_trimmed=is_trimmed)
    found = explain_pod(target, Rules(configuration), weight=1, now=0.0, is_over=lambda: False)
    return report.document(found)


@pytest.mark.parametrize("pod", ["p", "selecting"])
def test_explains_a_pending_pod_like_a_dump_of_the_cluster(pod: str) -> None:
    assert explained(Stack().read().objects, pod) == explained(OBJECTS, pod)


def test_does_not_end_a_pod_whose_replacement_the_node_cache_does_not_describe() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    replaced = pod_with("web", nodeName="c", requests={"cpu": "3"}, metadata={"ownerReferences": [owner]})
    smaller, waiting = node_with("d", {PRIORITY: "1"}, allocatable={"cpu": "3"}), pod_with("p", requests={"cpu": "4"})
    objects = [*OBJECTS[:3], smaller, replaced, waiting]
    from_dump = explained(objects, "p")
    from_stack = explained(Stack(objects).read().objects, "p", is_trimmed=True)
    ends = "end default/web"
    assert ends in str(from_dump["counterfactuals"])
    assert ends not in str(from_stack["counterfactuals"])
    assert report.KEEPS_PODS in from_stack["searchNote"]
    assert report.KEEPS_PODS not in from_dump["searchNote"]


def test_reports_why_the_applied_configuration_is_not_in_force() -> None:
    found = Stack(configuration={"profile": "full"}).read(applied='{"kind": "Deployment"}')
    assert found.configuration.profile == "full"
    assert "the deployed configuration is used instead" in found.fallback


def test_refuses_to_explain_without_the_plugins_of_the_applied_configuration() -> None:
    plugins = {"enabled": [{"name": "berth_plugins.absent:Absent"}]}
    applied = json.dumps({"profile": "mine", "definitions": {"mine": {"plugins": plugins}}})
    with pytest.raises(InvalidInput, match=r"the stack s: .*give the command --plugins DIR"):
        Stack().read(applied=applied)


@pytest.mark.parametrize(
    ("later", "when_stale", "fails"),
    [
        pytest.param(181, "fail", True, id="whenStale: fail"),
        pytest.param(181, "pass", False, id="whenStale: pass"),
        pytest.param(179, "fail", False, id="within maxStaleness"),
    ],
)
def test_reports_whether_the_verbs_return_an_error(later: float, when_stale: str, fails: bool) -> None:
    configuration = {**LABELLED, "nodeCache": {"whenStale": when_stale}}
    failure = Stack(configuration=configuration).read(later).failure
    assert failure.startswith("Berth cannot decide: the node cache is") is fails


def test_empty_cache_is_reported_in_one_line() -> None:
    stack = Stack()
    stack.cluster = PublishedCluster()
    with pytest.raises(InvalidInput, match="the node cache is empty") as raised:
        stack.read()
    assert raised.value.message.startswith("the stack s: the node cache is empty: no watcher has published yet")


def test_attempts_come_from_the_decision_table() -> None:
    recent = RecentDecisions(lambda: 5.0)
    verbs = Verbs([labelled("a", "1"), node("b")], recorder=recent)
    verbs.ask("filter", cache_mode(["b"]))
    [record] = recent.all()
    stack = Stack()
    stack.records = [document(record, record.names())]
    found = stack.read().attempts
    assert isinstance(found, Attempts)
    assert [(each.time, each.nodes, each.feasible) for each in found.all] == [(5.0, 1, 0)]


@pytest.mark.parametrize(
    ("records", "configuration", "reason"),
    [
        pytest.param(
            [],
            LABELLED,
            "the stack s keeps no records in its table: decisions is log; apply decisions: table",
            id="the default",
        ),
        pytest.param(
            [],
            {**LABELLED, "decisions": "table"},
            "the stack s has no record of this pod: no scheduler has asked about it in seven days, or it asked a "
            "moment ago",
            id="an unknown pod",
        ),
        pytest.param(
            [{"version": 1, "time": "soon"}],
            LABELLED,
            "the stack s has a record that cannot be read: time: Input should be a valid number, unable to parse "
            "string as a number",
            id="another form",
        ),
    ],
)
def test_reports_why_attempts_are_missing(records: list[object], configuration: Mapping[str, Any], reason: str) -> None:
    stack = Stack(configuration=configuration)
    stack.records = records
    assert stack.read().attempts == NoRecord(reason)
