"""Recorded decisions, repeated: the same with the same policy, and compared with another policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from berth.extender.deadline import Deadline
from berth.ledger.nodes.entry import OpenReservation
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth.scheduling.gangs.gang import ANNOTATIONS, GangKey, OpenGang
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.projection import compact_pod
from berth_cli.placement.policy.diff_from_recording import diff_recording
from berth_cli.placement.policy.policy_diff import MOVED, PolicyDiff
from berth_cli.placement.recording.format import AppliedPolicy, DecisionLine, read_recording
from berth_cli.placement.recording.replay import RecordedDecisions
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from berth_cli.terminal.input_files import InvalidInput
from tests.builders.gangs import member_object
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_object, pod_with
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.placement.recording.recorded import Replay, recording, replay

VERBS = ("filter", "filter_onlyone", "prioritize")
LABELLED: Mapping[str, Any] = {"profile": "label-priority"}
FULL: Mapping[str, Any] = {"profile": "full"}


def day(verbs: Verbs, seed: int = 7, decisions: int = 60) -> None:
    """Send requests like kube-scheduler's while nodes and pods come and go."""
    random = Random(seed)
    names = [f"n{number}" for number in range(12)]
    for number in range(decisions):
        if number % 5 == 0:
            nodes = [
                node_with(
                    name,
                    {PRIORITY: str(random.randrange(10))} if random.random() < 0.8 else {},
                    allocatable={"cpu": "8"},
                )
                for name in random.sample(names, 10)
            ]
            verbs.cluster.publish("nodes", [{k: v for k, v in each.items() if k != "kind"} for each in nodes])
            pods = [
                compact_pod(pod_with(f"web-{index}", nodeName=random.choice(names), requests={"cpu": "2"}))
                for index in range(8)
            ]
            verbs.cluster.publish("pods", pods)
        start = random.randrange(len(names))
        asked = [*names[start:], *names[:start], *(["unknown"] if number % 7 == 0 else [])]
        pod = pod_object(f"p{number}", requests={"cpu": str(random.randrange(1, 9))})
        verbs.ask(VERBS[number % 3], cache_mode(asked, pod))


def replayed(path: Path) -> Replay:
    return replay(RecordedDecisions(read_recording(path)))


def compared(path: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> PolicyDiff:
    before, after = (BerthConfiguration.model_validate(each) for each in (old, new))
    return diff_recording(RecordedDecisions(read_recording(path)), before, after, "r")


def test_replay_detects_another_policy(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, day, LABELLED)
    lines = [replace(each, document=FULL) if isinstance(each, AppliedPolicy) else each for each in read_recording(path)]
    assert replay(RecordedDecisions(lines)).differing > 30


GANGS: Mapping[str, Any] = {**FULL, "gangs": {"enabled": True}}


class GivenOpenGangs:
    def __init__(self, *gangs: OpenGang) -> None:
        self._gangs = gangs

    def __call__(self, deadline: Deadline) -> Sequence[OpenGang]:
        return self._gangs


def waiting(name: str, gang: str, created: str) -> dict[str, Any]:
    """Return a member of a gang of two as the node cache has it."""
    pod = member_object(name, gang, 2, created=created, requests={"cpu": "3"})
    found: dict[str, Any] = compact_pod(pod, ANNOTATIONS)
    found["metadata"]["creationTimestamp"] = created
    return found


def two_gangs(verbs: Verbs, verb: str = "filter", asked: str = "young-0") -> Any:
    """Call a verb with room for one of two gangs: the old gang goes first, unless the young gang is being bound."""
    nodes = [node_with(name, allocatable={"cpu": "4", "pods": "10"}) for name in ("a", "b")]
    verbs.cluster.publish("nodes", [{k: v for k, v in each.items() if k != "kind"} for each in nodes])
    old, young = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    members = [waiting(f"{gang}-{n}", gang, at) for gang, at in (("old", old), ("young", young)) for n in range(2)]
    verbs.cluster.publish("pods", members)
    request = cache_mode(["a", "b"], member_object(asked, "young", 2, created=young, requests={"cpu": "3"}))
    return verbs.ask(verb, request).json["NodeNames"]


YOUNG = OpenGang(GangKey("ml", "young"), 0, {"uid-young-1": "a"})


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        pytest.param("filter", "young-0", id="a member in the node cache"),
        pytest.param("filter_onlyone", "young-0", id="only one node"),
        pytest.param("filter", "young-9", id="a member not yet in the node cache"),
    ],
)
def test_replay_repeats_a_members_decision_with_the_open_gangs(tmp_path: Path, verb: str, asked: str) -> None:
    path, answers = tmp_path / "r", list[list[str]]()
    recording(
        path, lambda verbs: answers.append(two_gangs(verbs, verb, asked)), GANGS, open_gangs=GivenOpenGangs(YOUNG)
    )
    assert (replayed(path).decisions, replayed(path).differing) == (1, 0)
    assert answers == [["b"] if asked == "young-0" else []]


def test_comparison_uses_the_recorded_open_gangs(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, two_gangs, GANGS, open_gangs=GivenOpenGangs(YOUNG))
    found = compared(path, GANGS, GANGS)
    assert [str(each.after) for each in found.comparison.pods] == ["b"]


@pytest.mark.parametrize(
    ("asked", "time_limit"),
    [
        # The duration of a decision depends on the machine.
        pytest.param(cache_mode(["a"]), TimeLimit(0.0, lambda: 0.0, lambda: 0.0), id="took too long"),
        pytest.param(full_mode([{"metadata": {"name": "a"}}]), NO_TIME_LIMIT, id="full mode"),
    ],
)
def test_decision_that_cannot_be_repeated_is_not_recorded(tmp_path: Path, asked: Any, time_limit: TimeLimit) -> None:
    def play(verbs: Verbs) -> None:
        verbs.cluster.publish("nodes", [{k: v for k, v in node_with("a").items() if k != "kind"}])
        verbs.ask("filter", asked)

    recording(tmp_path / "r", play, LABELLED, time_limit=time_limit)
    assert not [each for each in read_recording(tmp_path / "r") if isinstance(each, DecisionLine)]


def two_nodes(verbs: Verbs) -> None:
    """Filter a pod that fits on both nodes, and a pod that only the label rule keeps from `plain`."""
    nodes = [node_with("a", {PRIORITY: "9"}), node_with("b", {PRIORITY: "1", "rank": "1"}), node_with("plain")]
    verbs.cluster.publish("nodes", [{k: v for k, v in each.items() if k != "kind"} for each in nodes])
    verbs.ask("filter", cache_mode(["a", "b"], pod_object("both", requests={"cpu": "1"})))
    verbs.ask("filter", cache_mode(["plain"], pod_object("plain", requests={"cpu": "1"})))


RANK: Mapping[str, Any] = {**LABELLED, "pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "rank"}}]}


def test_comparison_names_the_rule_that_moves_pods(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, two_nodes, LABELLED)
    found = compared(path, LABELLED, RANK)
    assert found.judged == 2
    [moved] = found.pods(MOVED)
    assert (moved.name, str(moved.before), str(moved.after)) == ("ml/both", "a", "b")
    assert str(moved.cause) == "NodePriorityLabel rejects a: node(s) didn't have the priority label rank"


def test_pod_moves_only_if_the_other_policy_finds_a_better_node(tmp_path: Path) -> None:
    path = tmp_path / "r"

    def play(verbs: Verbs) -> None:
        verbs.cluster.publish("nodes", [{"metadata": {"name": name, "labels": {PRIORITY: "5"}}} for name in "abcdef"])
        for number in range(20):
            verbs.ask("filter", cache_mode(list("abcdef"), pod_object(f"p{number}")))

    recording(path, play, LABELLED)
    found = compared(path, LABELLED, {})
    assert (found.judged, found.changed) == (20, [])
    assert len({str(each.before) for each in found.comparison.pods}) > 2


@pytest.mark.parametrize("document", [LABELLED, FULL], ids=["label-priority", "full"])
def test_identical_policy_repeats_every_decision_and_place(tmp_path: Path, document: Mapping[str, Any]) -> None:
    path = tmp_path / "r"
    recording(path, day, document)
    found = compared(path, document, document)
    assert (found.judged, found.changed, found.repeated, found.differing) == (40, [], 60, 0)


def test_recording_without_decisions_cannot_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, lambda verbs: None, LABELLED)
    with pytest.raises(InvalidInput, match="no decisions of filter to compare"):
        compared(path, LABELLED, {})


COUNTED: Mapping[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [
        {"name": "example.com/licence", "ignoredByScheduler": True, "capacity": {"nodeLabel": "licences"}}
    ],
}


def test_replay_counts_pods_that_were_being_bound(tmp_path: Path) -> None:
    path, ledger = tmp_path / "r", InMemoryLedgerTable()
    ledger.put_open(OpenReservation(PodKey("ml", "q", "uid-q"), "a", "attempt", {"example.com/licence": 1}, 0.0))

    def play(verbs: Verbs) -> None:
        verbs.cluster.publish("nodes", [{"metadata": {"name": "a", "labels": {"licences": "1"}}}])
        answer = verbs.ask("filter", cache_mode(["a"], pod_object("p", requests={"example.com/licence": "1"})))
        assert answer.json["NodeNames"] == []

    recording(path, play, COUNTED, ledger)
    assert (replayed(path).decisions, replayed(path).differing) == (1, 0)
    without = [replace(each, assumed=()) if isinstance(each, DecisionLine) else each for each in read_recording(path)]
    assert replay(RecordedDecisions(without)).differing == 1
