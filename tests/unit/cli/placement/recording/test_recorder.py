"""Recordings with a slow or full disk, and with calls that decide on a state applied by another call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from weakref import ref

from berth.extender.outcomes import Outcome
from berth.extender.reply import AnyDecision, Decision, DecisionRecorder
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.recording.format import (
    MAX_VERSIONS,
    DecisionLine,
    Header,
    Line,
    RecordingWriter,
    read_recording,
)
from berth_cli.placement.recording.recorder import DecisionRecording
from berth_cli.placement.recording.replay import RecordedDecisions
from tests.builders.nodes import PRIORITY
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.placement.recording.recorded import replay

HEADER = Header(1_800_000_000.0, "1.2.3")


class SlowWriter(RecordingWriter):
    """Waits with each decision until the disk is ready."""

    def __init__(self, path: Path) -> None:
        self.is_ready = Event()
        self.is_ready.set()
        super().__init__(path, HEADER)

    def write(self, line: Line) -> None:
        if isinstance(line, DecisionLine):
            self.is_ready.wait()
        super().write(line)


class FullDisk(SlowWriter):
    def __init__(self, path: Path, room: int) -> None:
        super().__init__(path)
        self._room = room

    def write(self, line: Line) -> None:
        if isinstance(line, DecisionLine):
            self.is_ready.wait()
            if not self._room:
                raise OSError(28, "No space left on device")
            self._room -= 1
        super().write(line)


@dataclass
class Recorded(DecisionRecorder):
    """Passes each decision to the recording, with the version of its state lowered by versions_back."""

    recording: DecisionRecording = field(init=False)
    versions_back: int = 0
    snapshots: list[ref[Snapshot]] = field(default_factory=list)

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        assert isinstance(decision, Decision)
        self.snapshots.append(ref(decision.snapshot))
        cache = decision.cache._replace(version=max(1, decision.cache.version - self.versions_back))
        self.recording.record(verb, outcome, decision._replace(cache=cache), milliseconds)


@dataclass
class World:
    """The verbs on a cluster of one node, whose label changes."""

    verbs: Verbs
    recorded: Recorded
    warnings: list[str]

    @property
    def recording(self) -> DecisionRecording:
        return self.recorded.recording

    def change_node(self, label: int) -> None:
        labels = {PRIORITY: str(label)} if label % 2 else {}
        self.verbs.cluster.publish("nodes", [{"metadata": {"name": "a", "labels": labels}}])

    def decide(self, name: str) -> None:
        self.verbs.ask("filter", cache_mode(["a"], pod_object(name)))


@contextmanager
def recorded_world(writer: RecordingWriter) -> Iterator[World]:
    """Record a first decision; the recording ends with the block."""
    configuration = BerthConfiguration.model_validate({"profile": "label-priority"})
    recorded, warnings = Recorded(), list[str]()
    verbs = Verbs([], configuration=configuration, recorder=recorded)
    world = World(verbs, recorded, warnings)
    world.change_node(1)
    recorded.recording = DecisionRecording(
        writer, verbs.table, lambda _: configuration, lambda: 1_800_000_001.0, warnings.append
    )
    world.decide("first")
    world.recording.wait_until_written()
    try:
        yield world
    finally:
        recorded.recording.close()


def replayed(path: Path) -> tuple[int, int, int]:
    """Return the numbers of repeated decisions, differing decisions, and decisions without a state."""
    decisions = RecordedDecisions(read_recording(path))
    found = replay(decisions)
    return found.decisions, found.differing, decisions.without_state


def test_replay_repeats_decisions_that_waited_for_a_slow_disk(tmp_path: Path) -> None:
    """A reader keeps only the last states: later states must not be written before an earlier decision."""
    writer, number = SlowWriter(tmp_path / "r"), MAX_VERSIONS + 20
    with recorded_world(writer) as world:
        writer.is_ready.clear()
        for version in range(number):
            world.change_node(version)
            world.decide(f"p{version}")
        writer.is_ready.set()
    assert replayed(tmp_path / "r") == (number + 1, 0, 0)


def test_decision_on_a_state_that_is_too_old_is_dropped(tmp_path: Path) -> None:
    with recorded_world(RecordingWriter(tmp_path / "r", HEADER)) as world:
        for version in range(MAX_VERSIONS + 1):
            world.change_node(version)
        world.decide("now")
        world.recording.wait_until_written()
        world.recorded.versions_back = MAX_VERSIONS
        world.decide("long-ago")
        world.recording.wait_until_written()
        assert world.recording.results == {"written": 2, "dropped": 1}
    assert replayed(tmp_path / "r") == (2, 0, 0)


def test_replay_repeats_a_decision_on_a_state_older_than_the_last_recorded(tmp_path: Path) -> None:
    """The decision names the version that it read; the state of a later version is written first."""
    with recorded_world(RecordingWriter(tmp_path / "r", HEADER)) as world:
        world.recorded.versions_back = 1
        for version in range(20):
            world.change_node(version)
            world.decide(f"p{version}")
            world.recording.wait_until_written()
    assert replayed(tmp_path / "r") == (21, 0, 0)


def test_full_disk_ends_the_recording_without_failing_decisions(tmp_path: Path) -> None:
    writer = FullDisk(tmp_path / "r", room=2)
    with recorded_world(writer) as world:
        writer.is_ready.clear()
        for number in range(6):
            world.change_node(number)
            world.decide(f"waits-{number}")
        writer.is_ready.set()
        world.recording.wait_until_written()
        for number in range(6):
            world.change_node(number)
            world.decide(f"too-late-{number}")
        assert world.recording.results == {"written": 2, "dropped": 11}
        kept = [each for each in world.recorded.snapshots if each() is not None]
        assert len(kept) == 1, "the verbs keep the last one"
    assert world.warnings == [
        "the recording has ended: OSError: [Errno 28] No space left on device",
        "the recording lacks its end: 11 decisions are not in it",
    ]
