"""What the console says of node cache, leader and ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from berth.configuration.store import Configurations
from berth.reservations.ledger.entry import Entry, EntryState, OpenReservation, PodKey
from berth.reservations.ledger.ledger import new_ledger
from berth.reservations.ledger.table import LedgerTable, TableUnavailable
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.documents.feed import Feed
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.health.calls import Call
from berth_cli.console.health.documents import KEPT_SECONDS, SAMPLE_SECONDS, HealthDocuments
from berth_cli.console.health.tables import ConsoleTables, TableHealth
from berth_cli.console.pending.gangs import GangSource
from berth_cli.embedded_store.configuration_store import InMemoryConfigurationStore
from berth_cli.embedded_store.lease_lock import InMemoryLeaseLock
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from tests.builders.nodes import node_with
from tests.fakes.published import PublishedCluster
from tests.unit.cli.console.cases import DEFAULT, HandDrivenSource, node, snapshot

LICENCE = "example.com/licence"


class Console:
    """On a published cluster. `seconds`: of the monotonic clock."""

    def __init__(
        self,
        ledger: LedgerTable | None = None,
        *,
        has_tables: bool = True,
        calls: Sequence[Call] | NotRead = (),
        sampling: str = "",
        gangs: GangSource | None = None,
    ) -> None:
        self.cluster = PublishedCluster()
        self.seconds = 0.0
        self.source = HandDrivenSource(ObservedCluster(snapshot([node("n1")]), self.cluster.clock.wall(), DEFAULT))
        self.feed = Feed(self.source, self.cluster.clock.wall)
        self.feed.observe(0)
        tables = ConsoleTables(
            self.cluster.table,
            InMemoryLeaseLock(self.cluster.item, lambda: "id"),
            Configurations(InMemoryConfigurationStore(self.cluster.item), BerthConfiguration),
            ledger,
        )
        source = TableHealth(tables, self.cluster.clock) if has_tables else None
        self.documents = HealthDocuments(
            self.feed, source, self.cluster.clock.wall, lambda: self.seconds, lambda: calls, gangs, sampling
        )

    def ask(self) -> dict[str, Any]:
        answer = self.documents.health({})
        assert isinstance(answer, bytes)
        content: dict[str, Any] = orjson.loads(answer)
        return content


def test_says_cache_leader_and_what_is_published() -> None:
    console = Console()
    console.cluster.publish("nodes", [node_with("n1")])
    console.cluster.clock.advance(4)
    found = console.ask()
    assert (found["cache"]["status"], found["cache"]["observedAgeSeconds"]) == ("ok", 4.0)
    assert (found["leader"]["holder"], found["leader"]["renewedSecondsAgo"]) == ("watcher", 4.0)
    assert found["published"]["heartbeatAgeSeconds"] == 4.0
    assert found["published"]["resources"]["pods"] == {"ageSeconds": 4.0, "listedAgeSeconds": 4.0}
    assert found["reservations"] is None


def test_says_why_verbs_cannot_decide() -> None:
    found = Console().ask()
    assert found["cache"]["status"] == "failure-cache-unavailable"
    assert found["cache"]["reason"]
    assert found["published"] is None


def test_counts_reservations_that_are_open_and_owed() -> None:
    ledger, pod = InMemoryLedgerTable(), PodKey("ml", "runs", "uid-runs")
    ledger.create(new_ledger("a", {LICENCE: 2}, {pod.uid: Entry(pod, EntryState.BOUND, "t", {LICENCE: 3}, 0.0)}, 1))
    ledger.put_open(OpenReservation(PodKey("ml", "begins", "uid-begins"), "a", "t", {LICENCE: 1}, 0.0))
    found = Console(ledger).ask()["reservations"]
    assert (found["count"], found["open"], found["owed"], found["rebuilding"]) == (2, 1, 1, 0)
    assert [(each["pod"], each["state"], each["holds"]) for each in found["reservations"]] == [
        ("ml/begins", "announced", {LICENCE: 1}),
        ("ml/runs", "bound", {LICENCE: 3}),
    ]


def test_ledger_that_cannot_be_read_hides_nothing_else() -> None:
    class Away(InMemoryLedgerTable):
        def open_reservations(self) -> list[OpenReservation]:
            raise TableUnavailable("the ledger throttles")

    console = Console(Away())
    console.cluster.publish("nodes", [node_with("n1")])
    found = console.ask()
    assert found["reservations"] == {"problem": "the ledger throttles"}
    assert found["cache"]["status"] == "ok"


def test_dump_has_neither_cache_nor_ledger() -> None:
    found = Console(has_tables=False).ask()
    assert sorted(found) == ["console", "samples"]
    assert (found["console"]["problem"], found["console"]["maxStalenessSeconds"]) == ("", 180.0)


def test_pages_that_ask_together_get_one_answer() -> None:
    console = Console()
    first = console.documents.health({})
    console.seconds = KEPT_SECONDS
    assert console.documents.health({}) is first
    console.seconds = KEPT_SECONDS + 0.1
    assert console.documents.health({}) is not first


def test_age_of_the_data_is_kept_over_time() -> None:
    console = Console(has_tables=False)
    for _ in range(3):
        console.ask()
        console.seconds += SAMPLE_SECONDS
        console.cluster.clock.advance(2)
    assert [age for _, age, _ in console.ask()["samples"]] == [0.0, 2.0, 4.0, 6.0]


def test_calls_are_counted_over_time() -> None:
    now = Console(has_tables=False).cluster.clock.wall()
    found = Console(has_tables=False, calls=[Call(now, "filter", 2.0), Call(now, "filter", 4.0)]).ask()["calls"]
    assert found["verbs"]["filter"] == {"count": [2], "median": [3.0], "slowest": [4.0]}


def test_calls_that_are_a_part_of_all_say_so() -> None:
    now = Console(has_tables=False).cluster.clock.wall()
    found = Console(has_tables=False, calls=[Call(now, "filter", 2.0)], sampling="a part of them").ask()["calls"]
    assert found["note"] == "a part of them"


def test_calls_that_cannot_be_read_say_why() -> None:
    found = Console(has_tables=False, calls=NotRead("apply decisions: table")).ask()["calls"]
    assert (found["problem"], found["verbs"]) == ("apply decisions: table", {})


class Listed(GangSource):
    """It has this answer."""

    def __init__(self, answer: Mapping[str, Any] | NotRead) -> None:
        self._answer = answer

    def gangs(self, now: float) -> Mapping[str, Any] | NotRead:
        return self._answer


ON, OFF = {"open": "ml/b", "compared": True}, {"open": None, "compared": False}
BY_STATE = {"does-not-fit": 2, "open": 1}
THREE = [{"state": "open"}, {"state": "does-not-fit"}, {"state": "does-not-fit"}]


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        pytest.param({**ON, "gangs": THREE}, {"count": 3, "open": "ml/b", "states": BY_STATE}, id="by state"),
        pytest.param({**ON, "gangs": []}, {"count": 0, "open": "ml/b", "states": {}}, id="enabled without gangs"),
        pytest.param({**OFF, "gangs": []}, None, id="not enabled"),
        pytest.param(NotRead("the table throttles"), {"problem": "the table throttles"}, id="not read"),
    ],
)
def test_gangs_are_counted_by_state(answer: Mapping[str, Any] | NotRead, shown: object) -> None:
    assert Console(has_tables=False, gangs=Listed(answer)).ask().get("gangs") == shown
