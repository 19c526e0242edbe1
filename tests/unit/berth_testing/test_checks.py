"""The checks of a plugin: each check detects a plugin that breaks its rule, and accepts a sound plugin."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from berth.scheduling.framework import SUCCESS, Plugin, Status
from berth.scheduling.framework.plugin import ClusterEvent, ClusterEvents
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.custom_plugins import checked_plugin
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin
from berth_testing import Rule, check_plugin, cluster, node, pod
from berth_testing.checks import MAX_FINDINGS, CheckResult
from tests.unit.berth_testing.broken_plugins import (
    ANTI_AFFINITY,
    FULL,
    NODES,
    PLACED,
    PODS,
    Draws,
    Filters,
    GivesNoReason,
    NamesNoNode,
    NamesPod,
    NeedsCandidate,
    NormalizesByInstance,
    OneEach,
    PutsReasonTogether,
    Raises,
    ReadsLabel,
    ReadsName,
    ReadsPods,
    RejectsFullCluster,
    Scores,
    ScoresHigh,
    ScoresOldPods,
    at_most,
    calling,
    without,
)


def stopped_clock() -> float:
    return 0.0


def check(create: Callable[[], Plugin], clock: Callable[[], float] = stopped_clock) -> CheckResult:
    return check_plugin(create, cluster(NODES, PLACED, namespaces={"default": {}}), PODS, clock)


def checked(plugin: type[Plugin]) -> Callable[[], Plugin]:
    return checked_plugin(plugin, "berth_plugins.mine:Mine")


@pytest.mark.parametrize("plugin", [Filters, Scores, OneEach, at_most(6)])
def test_sound_plugin_passes_every_check(plugin: type[Plugin]) -> None:
    result = check(checked(plugin))
    assert (result.findings, result.nodes, result.pods) == ((), 4, 3)


@pytest.mark.parametrize("name", SHIPPED_PLUGINS)
def test_plugins_shipped_with_berth_pass_every_check(name: str) -> None:
    factory = shipped_plugin(name)
    assert isinstance(factory.plugin, type)
    plugin = checked_plugin(factory.plugin, name)
    found = check(lambda: plugin(factory.args())).findings
    # NodePriorityLabel scores with the integer in a label, for profiles with `scores: as-is`.
    assert [each for each in found if name != "NodePriorityLabel"] == []


@pytest.mark.parametrize(
    ("plugin", "rule", "message"),
    [
        pytest.param(Raises, Rule.RESULT, "pod default/db: it failed in filter on node node-0: KeyError", id="raises"),
        pytest.param(NamesPod, Rule.REASON, 'the reason "no room for db" contains the name db', id="name in a reason"),
        pytest.param(
            PutsReasonTogether,
            Rule.REASON,
            "is no text of the plugin's package, so Berth does not",
            id="a computed reason",
        ),
        pytest.param(GivesNoReason, Rule.REASON, "node node-0 is rejected without a reason", id="no reason"),
        pytest.param(ScoresHigh, Rule.SCORE_RANGE, "node node-0: the score is 101, not 0 to 100", id="a high score"),
        pytest.param(NeedsCandidate, Rule.EMPTY, "failed in normalize: ValueError: max", id="no candidates"),
        pytest.param(ReadsName, Rule.SHAPE, "pod default/web with another name has the same shape", id="reads name"),
        pytest.param(ReadsLabel, Rule.SHAPE, "pods default/db and default/plain have one shape", id="reads a label"),
        pytest.param(ReadsPods, Rule.READS, "node node-0 is judged differently without pods", id="reads others too"),
        pytest.param(Draws, Rule.REPEATABLE, "node node-0 is judged differently the second time", id="keeps a state"),
        pytest.param(calling(lambda: time.time() >= 0), Rule.SIDE_EFFECTS, "it calls time.time", id="a clock"),
        pytest.param(calling(lambda: datetime.now(UTC)), Rule.SIDE_EFFECTS, "it calls datetime.now", id="a date"),
        pytest.param(calling(lambda: random.random() >= 0), Rule.SIDE_EFFECTS, "it calls random.random", id="random"),
        pytest.param(calling(lambda: Path(__file__).read_text()), Rule.SIDE_EFFECTS, "it calls open", id="a file"),
        pytest.param(NormalizesByInstance, Rule.REPEATABLE, "the scores are normalised differently", id="its state"),
        pytest.param(
            without("updated_to"),
            Rule.UPDATED_TO,
            "is judged differently by updated_to than by a new",
            id="not updated",
        ),
        pytest.param(NamesNoNode, Rule.UPDATED_TO, "changes, and updated_to does not name it", id="does not name node"),
        pytest.param(RejectsFullCluster, Rule.UPDATED_TO, "pre_filter rejects it by one snapshot", id="in pre_filter"),
        pytest.param(ScoresOldPods, Rule.UPDATED_TO, "by updated_to and .* by a new state", id="old scores"),
        pytest.param(
            without("with_pod"),
            Rule.WITH_POD,
            r"with_pod\(db\) judges node node-2 differently",
            id="does not add nodes",
        ),
        pytest.param(
            without("without_pod"),
            Rule.WITH_POD,
            r"without_pod\(db\) judges node node-2 differently",
            id="does not remove nodes",
        ),
        pytest.param(at_most(6, "updated_to"), Rule.UPDATED_TO, "is judged differently by updated_to", id="limit left"),
        pytest.param(at_most(6, "with_pod"), Rule.WITH_POD, r" with_pod\(db\) judges node", id="not added to limit"),
        pytest.param(at_most(6, "without_pod"), Rule.WITH_POD, r"without_pod\(db\) judges node", id="not in limit"),
    ],
)
def test_check_reports_a_plugin_that_breaks_a_rule(plugin: type[Plugin], rule: Rule, message: str) -> None:
    result = check(checked(plugin))
    assert rule in {each.rule for each in result.findings}
    messages = [each.message for each in result.findings if each.rule is rule]
    assert len(messages) <= MAX_FINDINGS
    assert any(re.search(message, each) for each in messages), messages


@pytest.mark.parametrize(
    ("plugin", "warnings"),
    [
        pytest.param(Scores, (), id="it does not filter"),
        pytest.param(at_most(6), (), id="it rejects a node after some pods"),
        pytest.param(calling(lambda: None), (), id="a filter of single nodes always rejects"),
        pytest.param(Filters, ("it rejected no node in any case",), id="it never rejects"),
        pytest.param(at_most(99, "with_pod"), ("it rejected no node in any case",), id="its limit is not reached"),
        pytest.param(
            at_most(0, "updated_to"),
            ("no change of the cluster changed a verdict, so updated_to, with_pod and without_pod were not tested",),
            id="it always rejects",
        ),
    ],
)
def test_warns_if_verdicts_never_differ(plugin: type[Plugin], warnings: tuple[str, ...]) -> None:
    result = check(checked(plugin))
    assert (result.findings, result.warnings) == ((), warnings)


ADD, UPDATE, DELETE = (
    ClusterEvent.ASSIGNED_POD_ADD,
    ClusterEvent.ASSIGNED_POD_UPDATE,
    ClusterEvent.ASSIGNED_POD_DELETE,
)


class NeedsPod(Filters):
    """Does not override `events_to_register`, so every change of a node and its pods is registered."""

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return SUCCESS if any(each.labels.get("app") == "db" for each in node.pods) else FULL


WAITING = pod("apart", {"app": "db"}, affinity=ANTI_AFFINITY)


@pytest.mark.parametrize(
    ("plugin", "events"),
    [pytest.param(NeedsPod, [ADD, UPDATE], id="node filter"), pytest.param(OneEach, [DELETE], id="cluster filter")],
)
def test_check_reports_a_plugin_that_misses_an_event(plugin: type[Plugin], events: list[ClusterEvent]) -> None:
    """Each of these events is needed. For Berth's own plugins, see tests/property/test_registered_events.py."""
    for event in events:
        snapshot = cluster(NODES, PLACED, namespaces={"default": {}})
        found = check_plugin(forgetful(plugin, event), snapshot, [WAITING], stopped_clock).findings
        assert {each.rule for each in found} == {Rule.EVENTS}, event
        assert f"passes after {event}, which `events_to_register` leaves out" in found[0].message


def forgetful(plugin: type[Plugin], event: ClusterEvent) -> Callable[[], Plugin]:
    class Forgetful(plugin):  # type: ignore[valid-type, misc]
        @property
        def events_to_register(self) -> ClusterEvents:
            every: ClusterEvents = super().events_to_register
            return every - {event}

    return checked(Forgetful)


def test_reports_a_factory_that_returns_the_same_instance_twice() -> None:
    plugin = checked(Filters)()
    [found] = check(lambda: plugin).findings
    assert (found.rule, "same instance twice" in found.message) == (Rule.REPEATABLE, True)


def test_check_reports_a_plugin_that_is_too_slow() -> None:
    # The clock advances by a second at each reading; three pods are checked on four nodes.
    seconds = count()
    result = check(checked(Filters), lambda: float(next(seconds)))
    assert result.microseconds == pytest.approx(1e6 / 12)
    [finding] = result.findings
    assert str(finding) == "time: 83333 µs for a node; more than 200 µs are too slow for 5,000"


def test_checks_at_most_the_first_200_nodes_and_30_pods() -> None:
    nodes = [node(f"node-{index}") for index in range(300)]
    pods = [pod(f"pod-{index}", {"app": str(index)}) for index in range(50)] + [pod("again", {"app": "1"})]
    result = check_plugin(checked(Filters), cluster(nodes), pods, stopped_clock)
    assert (result.nodes, result.pods) == (200, 30)
