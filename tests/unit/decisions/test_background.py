"""Records that a background thread writes: calls do not wait, and the number of records a second is limited."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event, current_thread
from typing import Any

import pytest

from berth.decisions.record import Record
from berth.decisions.recorders import MAX_WAITING, BackgroundRecorder
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, victims_by_uid
from tests.fakes.verbs import Verbs

NODES = [labelled("fits", "1"), node("plain")]


class Written:
    """The written documents, and a wall clock that stands still. broken: whether writing raises."""

    def __init__(self, most_a_second: int = 100, *, broken: bool = False) -> None:
        self.now, self.broken = 1_800_000_000.0, broken
        self.documents: list[Mapping[str, object]] = []
        self.warnings: list[str] = []
        self.recorder = BackgroundRecorder(self._write, lambda: self.now, self.warnings.append, most_a_second)
        self.verbs = Verbs(NODES, recorder=self.recorder)

    def _write(self, document: Mapping[str, object]) -> None:
        if self.broken:
            raise OSError("disk full")
        self.documents.append(document)

    def ask(self, name: str, *nodes: str, verb: str = "filter") -> None:
        self.verbs.ask(verb, cache_mode(nodes, pod_object(name)))

    @property
    def names(self) -> list[object]:
        """Return the names of the pods once all pending documents are written."""
        self.recorder.close()
        return [each["name"] for each in self.documents]


def test_writes_each_decision_as_a_document() -> None:
    written = Written()
    written.ask("p", "fits", "plain")
    written.verbs.ask("preempt", victims_by_uid({"fits": ["v"]}))
    assert written.names == ["p", "urgent"]
    assert [(each["verb"], each["nodes"], each["feasible"]) for each in written.documents] == [
        ("filter", 2, 1),
        ("preempt", 1, 1),
    ]


def test_written_decision_does_not_contain_scores_by_plugin() -> None:
    written = Written()
    written.ask("p", "fits", verb="prioritize")
    written.recorder.close()
    assert [each["best"] for each in written.documents] == [[{"node": "fits", "score": 1, "byPlugin": None}]]


def test_rate_limits_decisions_of_placed_and_of_pending_pods_separately() -> None:
    written = Written(most_a_second=2)
    for number in range(4):
        written.ask(f"placed-{number}", "fits")
    for number in range(4):
        written.ask(f"pending-{number}", "plain")
    written.now += 1
    written.ask("later", "fits")
    assert written.names == ["placed-0", "placed-1", "pending-0", "pending-1", "later"]


def test_failure_is_reported_once_and_the_next_record_is_tried() -> None:
    written = Written(broken=True)
    for number in range(3):
        written.ask(f"p{number}", "fits")
    assert written.names == []
    assert written.warnings == ["decisions are not recorded: OSError: disk full"]


def test_reports_every_failure_that_follows_a_written_record() -> None:
    written = Written()
    for number in range(6):
        written.broken = number in (1, 2, 4)
        written.ask(f"p{number}", "fits")
        written.recorder.close()
        written.recorder._thread = None
    failed = "decisions are not recorded: OSError: disk full"
    assert written.warnings == [failed, "", failed, ""]


def test_calls_do_not_wait_for_a_writer_that_hangs() -> None:
    released = Event()

    def hang(_: Mapping[str, object]) -> None:
        released.wait()

    recorder = BackgroundRecorder(hang, lambda: 0.0, lambda _: None, 10 * MAX_WAITING)
    verbs = Verbs(NODES, recorder=recorder)
    answers = [verbs.ask("filter", cache_mode(["fits"])).json["NodeNames"] for _ in range(2 * MAX_WAITING)]
    released.set()
    recorder.close()
    assert answers == [["fits"]] * (2 * MAX_WAITING)


def test_record_is_built_outside_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """For 5,000 nodes, building the record costs more than the decision."""
    threads, made = set[str](), Record.of

    def noted(*arguments: Any) -> Record:
        threads.add(current_thread().name)
        return made(*arguments)

    monkeypatch.setattr(Record, "of", noted)
    written = Written()
    written.ask("p", "fits")
    assert (written.names, threads) == (["p"], {"decisions"})


@pytest.mark.parametrize("closed", ["before a record", "twice"])
def test_close_returns_at_once_unless_a_writer_is_running(closed: str) -> None:
    written = Written()
    if closed == "twice":
        written.ask("p", "fits")
        written.recorder.close()
    written.recorder.close()
