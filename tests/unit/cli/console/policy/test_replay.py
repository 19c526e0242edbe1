"""The pods of a recording by the configuration in force and another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.cluster.source import ClusterNotObserved, ObservedCluster
from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.access import Refusal
from berth_cli.console.policy.documents import SecondPolicy
from berth_cli.console.policy.replay import REPLAY, REPLAY_SECONDS, ReplayDocuments
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.console.cases import NOW, HandDrivenSource, snapshot
from tests.unit.cli.recording.recorded import recording

FULL = BerthConfiguration.model_validate({"profile": "full"})
LABELS = BerthConfiguration.model_validate({"profile": "label-priority"})


def play(verbs: Verbs) -> None:
    verbs.cluster.publish("nodes", [node_with("plain"), node_with("good", {PRIORITY: "9"})])
    for name in ("p", "q", "r"):
        verbs.ask("filter", cache_mode(["plain"], pod_object(name)))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Three pods that were offered a node without the label, by the profile full."""
    path = tmp_path / "monday.rec"
    assert recording(path, play, {"profile": "full"}) == []
    return path


def answer(
    path: Path | None, in_force: BerthConfiguration = FULL, second: BerthConfiguration | None = None, seconds: float = 0
) -> bytes | Refusal:
    """seconds: that each look at the clock takes."""
    feed = Feed(HandDrivenSource(ObservedCluster(snapshot([]), NOW, ActiveConfiguration.of(in_force))), lambda: NOW)
    feed.observe(0)
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += seconds
        return now

    named = None if second is None else SecondPolicy("proposed.yaml", second)
    return ReplayDocuments(feed, path, named, clock).by_path[REPLAY]({})


def content(found: bytes | Refusal) -> dict[str, Any]:
    assert isinstance(found, bytes)
    read: dict[str, Any] = orjson.loads(found)
    return read


def test_second_policy_is_compared_with_the_one_in_force(recorded: Path) -> None:
    found = content(answer(recorded, FULL, LABELS))
    assert (found["judged"], found["newlyPending"], found["notes"]) == (3, 3, [])
    assert found["headline"] == "3 newly pending, 0 moved, 0 newly placed"
    assert all("NodePriorityLabel" in message for message in found["messages"])


def test_policy_in_force_is_compared_with_the_recorded_one_where_there_is_no_second(recorded: Path) -> None:
    assert content(answer(recorded, FULL))["newlyPending"] == 0
    assert content(answer(recorded, LABELS))["newlyPending"] == 3


def test_replay_ends_when_its_time_is_over_and_says_so(recorded: Path) -> None:
    found = content(answer(recorded, FULL, LABELS, seconds=REPLAY_SECONDS / 2))
    assert found["judged"] == 1
    assert "the replay ended after 30 s" in found["notes"][0]


def test_recording_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no.rec"
    path.write_text("none")
    found = answer(path)
    assert isinstance(found, Refusal)
    assert str(path) in found.reason


def test_without_a_recording_says_how_to_give_one() -> None:
    found = answer(None)
    assert isinstance(found, Refusal)
    assert "--recording FILE" in found.reason


def test_nothing_is_replayed_before_a_configuration_is_known(recorded: Path) -> None:
    feed = Feed(HandDrivenSource(ClusterNotObserved("being listed")), lambda: NOW)
    feed.observe(0)
    found = ReplayDocuments(feed, recorded, None, lambda: 0.0).replay({})
    assert isinstance(found, Refusal)
    assert (found.status, found.reason) == (503, "being listed")
