"""A recording of a stack: its states while it runs, its decisions from the table, and the same decisions again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from berth.configuration.store import ConfigurationInvalid
from berth.decisions.background import REPEATABLE, BackgroundRecorder
from berth.decisions.dynamodb_table import StoredDecision
from berth.decisions.repeatable import RepeatableEncoder
from berth.extender.filter import NO_GANG_IS_OPEN
from berth.extender.ports import OpenGangs
from berth.reservations.ledger.entry import OpenReservation, PodKey
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects.projection import compact_pod
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from berth_cli.recording.format import Header, RecordingWriter, read_recording
from berth_cli.recording.pseudonymised import PseudonymisingWriter
from berth_cli.recording.pseudonyms import Pseudonyms
from berth_cli.recording.replay import RecordedDecisions, ReplayResult, replay
from berth_cli.recording.stack_recording import NOTES, RecordingCounts, StackRecording
from tests.builders.nodes import node_with
from tests.builders.pods import pod_object, pod_with
from tests.builders.requests import cache_mode, victims_by_uid
from tests.fakes.verbs import Verbs
from tests.unit.cli.recording.test_replay import COUNTED, FULL, GANGS, LABELLED, YOUNG, GivenOpenGangs, day, two_gangs

HEADER = Header(1_800_000_000.0, "1.2.3", notes=NOTES)


class Stack:
    """The verbs of a stack whose decisions go to a table, and a recording of it."""

    def __init__(
        self, document: Mapping[str, Any], open_gangs: OpenGangs = NO_GANG_IS_OPEN, ledger: Any = None
    ) -> None:
        self.configuration = BerthConfiguration.model_validate(document)
        self.stored: list[Mapping[str, Any]] = []
        self._at = iter(range(1_800_000_000, 1_900_000_000))
        recorder = BackgroundRecorder(
            self.stored.append, lambda: float(next(self._at)), print, 100, RepeatableEncoder().encoded
        )
        self._close = recorder.close
        self.verbs = Verbs(
            [], configuration=self.configuration, ledger=ledger, recorder=recorder, open_gangs=open_gangs
        )
        self.recording = StackRecording(self.verbs.table)

    def decisions_of(self, namespace: str, name: str) -> Iterator[StoredDecision]:
        for each in self.stored:
            if (each["namespace"], each["name"]) == (namespace, name):
                record = {key: value for key, value in each.items() if key != REPEATABLE}
                yield StoredDecision(record, each.get(REPEATABLE))

    def written(self, path: Path, writer: RecordingWriter | None = None) -> RecordingCounts:
        self._close()
        self.recording.follow()
        writer = writer or RecordingWriter(path, HEADER)
        found = self.recording.write(writer, self.decisions_of, lambda _: self.configuration)
        writer.close()
        return found


def waits(verbs: Verbs, *names: str) -> None:
    verbs.cluster.publish("pods", [compact_pod(pod_with(name, namespace="ml")) for name in names])


def replayed(path: Path) -> ReplayResult:
    return replay(RecordedDecisions(read_recording(path)))


def followed_day(stack: Stack) -> None:
    """The day of a recording of berth serve, with its pods in the node cache while they wait."""
    publish: Callable[..., Any] = stack.verbs.cluster.publish

    def with_waiting(resource: str, objects: Any) -> Any:
        waiting = (
            [compact_pod(pod_with(f"p{number}", namespace="ml")) for number in range(60)] if resource == "pods" else []
        )
        found = publish(resource, [*objects, *waiting])
        stack.recording.follow()
        return found

    stack.verbs.cluster.publish = with_waiting  # type: ignore[method-assign]
    day(stack.verbs)


@pytest.mark.parametrize("document", [LABELLED, FULL], ids=["label-priority", "full"])
def test_the_same_policy_decides_the_same(tmp_path: Path, document: Mapping[str, Any]) -> None:
    stack = Stack(document)
    followed_day(stack)
    assert stack.written(tmp_path / "r") == RecordingCounts(60, 0)
    found = replayed(tmp_path / "r")
    assert (found.decisions, found.differing) == (60, 0)


def test_another_policy_would_be_noticed(tmp_path: Path) -> None:
    stack = Stack(LABELLED)
    followed_day(stack)
    stack.configuration = BerthConfiguration.model_validate(FULL)
    stack.written(tmp_path / "r")
    assert replayed(tmp_path / "r").differing > 30


def test_pods_and_gangs_that_were_being_bound_count_again(tmp_path: Path) -> None:
    ledger = InMemoryLedgerTable()
    ledger.put_open(OpenReservation(PodKey("ml", "q", "uid-q"), "a", "attempt", {"example.com/licence": 1}, 0.0))
    counted, gangs = Stack(COUNTED, ledger=ledger), Stack(GANGS, GivenOpenGangs(YOUNG))
    counted.verbs.cluster.publish("nodes", [{"metadata": {"name": "a", "labels": {"licences": "1"}}}])
    waits(counted.verbs, "p")
    counted.verbs.ask("filter", cache_mode(["a"], pod_object("p", requests={"example.com/licence": "1"})))
    two_gangs(gangs.verbs, "filter_onlyone")
    for number, stack in enumerate((counted, gangs)):
        assert stack.written(tmp_path / str(number)) == RecordingCounts(1, 0)
        assert (replayed(tmp_path / str(number)).decisions, replayed(tmp_path / str(number)).differing) == (1, 0)


def test_an_exempt_pod_and_nodes_that_are_unknown_are_replayed(tmp_path: Path) -> None:
    stack = Stack({**LABELLED, "exempt": {"namespaces": ["ml"]}})
    stack.verbs.cluster.publish("nodes", [{"metadata": {"name": "a"}}])
    waiting = [compact_pod(pod_with("p", namespace="ml")), compact_pod(pod_with("q", namespace="web"))]
    stack.verbs.cluster.publish("pods", waiting)
    stack.verbs.ask("filter", cache_mode(["unknown", "a"], pod_object("p")))
    stack.verbs.ask("filter", cache_mode(["unknown", "a"], pod_object("q", namespace="web")))
    assert stack.written(tmp_path / "r") == RecordingCounts(2, 0)
    assert replayed(tmp_path / "r").differing == 0


def test_with_pseudonyms_the_replay_is_the_same(tmp_path: Path) -> None:
    stack = Stack(FULL)
    followed_day(stack)
    writer = PseudonymisingWriter(tmp_path / "r", HEADER, Pseudonyms(b"key"))
    assert stack.written(tmp_path / "r", writer) == RecordingCounts(60, 0)
    assert (replayed(tmp_path / "r").decisions, replayed(tmp_path / "r").differing) == (60, 0)


def test_a_decision_on_a_version_after_the_one_that_was_read_finds_its_nodes(tmp_path: Path) -> None:
    stack = Stack(LABELLED)
    nodes = [node_with(name) for name in ("a", "b")]
    for count in (1, 2):
        stack.verbs.cluster.publish("nodes", [{k: v for k, v in each.items() if k != "kind"} for each in nodes[:count]])
        stack.recording.follow()
    waits(stack.verbs, "p")
    stack.verbs.ask("filter", cache_mode(["a", "b"], pod_object("p")))
    stack.written(tmp_path / "before")
    stack.stored[0] = {**stack.stored[0], "cacheVersion": 1}
    assert stack.written(tmp_path / "r") == RecordingCounts(1, 0)
    assert replayed(tmp_path / "r").differing == 0


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        pytest.param({"cacheVersion": 0}, 1, id="a state before the recording"),
        pytest.param({"cacheVersion": 99}, 1, id="a state after it"),
        pytest.param({"outcome": "too-costly"}, 1, id="a decision that took too long"),
        pytest.param({REPEATABLE: b"x"}, 1, id="one that cannot be read"),
        pytest.param({"verb": None}, 1, id="a record of another form"),
        pytest.param({REPEATABLE: None}, 0, id="a call without verdicts"),
    ],
)
def test_records_that_cannot_be_used_are_counted(tmp_path: Path, change: Mapping[str, Any], missing: int) -> None:
    stack = Stack(LABELLED)
    stack.verbs.cluster.publish("nodes", [{"metadata": {"name": "a"}}])
    waits(stack.verbs, "p")
    stack.verbs.ask("filter", cache_mode(["a"], pod_object("p")))
    stack._close()
    stack.stored[0] = {**stack.stored[0], **change}
    assert stack.written(tmp_path / "r") == RecordingCounts(0, missing)
    summary = RecordedDecisions(read_recording(tmp_path / "r"))
    assert list(summary) == []
    assert summary.summary.dropped == missing


def test_records_by_a_configuration_that_is_not_known_are_counted(tmp_path: Path) -> None:
    stack = Stack(LABELLED)
    stack.verbs.cluster.publish("nodes", [{"metadata": {"name": "a"}}])
    waits(stack.verbs, "p")
    stack.verbs.ask("filter", cache_mode(["a"], pod_object("p")))
    stack._close()

    def gone(_: str) -> BerthConfiguration:
        raise ConfigurationInvalid("gone")

    stack.recording.follow()
    writer = RecordingWriter(tmp_path / "r", HEADER)
    assert stack.recording.write(writer, stack.decisions_of, gone) == RecordingCounts(0, 1)
    writer.close()


def test_pods_that_were_on_their_nodes_all_the_time_are_not_asked_for(tmp_path: Path) -> None:
    stack, asked = Stack(LABELLED), list[str]()
    placed = compact_pod(pod_with("placed", nodeName="a"))
    waiting = compact_pod(pod_with("waiting"))
    stack.verbs.cluster.publish("pods", [placed, waiting])
    stack.recording.follow()
    stack.verbs.cluster.publish("pods", [placed])
    stack.recording.follow()
    writer = RecordingWriter(tmp_path / "r", HEADER)

    def decisions_of(_: str, name: str) -> list[StoredDecision]:
        asked.append(name)
        return []

    stack.recording.write(writer, decisions_of, lambda _: stack.configuration)
    writer.close()
    assert asked == ["waiting"]


def test_the_file_says_what_a_stack_cannot_give(tmp_path: Path) -> None:
    stack = Stack(LABELLED)
    stack.verbs.cluster.publish("nodes", [{"metadata": {"name": "a"}}])
    stack.verbs.ask("preempt", victims_by_uid({"a": ["v"]}))
    stack.written(tmp_path / "r")
    found = RecordedDecisions(read_recording(tmp_path / "r"))
    assert list(found) == []
    assert found.summary.notes == list(NOTES)
    assert next(iter(read_recording(tmp_path / "r"))) == HEADER
