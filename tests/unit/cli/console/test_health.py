"""What the console says of node cache, leader and ledger."""

from __future__ import annotations

from typing import Any

import orjson

from berth.configuration.store import Configurations
from berth.reservations.ledger.entry import Entry, EntryState, OpenReservation, PodKey
from berth.reservations.ledger.ledger import new_ledger
from berth.reservations.ledger.table import LedgerTable, TableUnavailable
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.cluster.source import Observed
from berth_cli.console.documents.feed import Feed
from berth_cli.console.health.documents import KEPT_SECONDS, SAMPLE_SECONDS, HealthDocuments
from berth_cli.console.health.tables import ConsoleTables, TableHealth
from berth_cli.embedded_store.configuration_store import InMemoryConfigurationStore
from berth_cli.embedded_store.lease_lock import InMemoryLeaseLock
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from tests.builders.nodes import node_with
from tests.fakes.published import PublishedCluster
from tests.unit.cli.console.cases import DEFAULT, HandDrivenSource, node, snapshot

LICENCE = "example.com/licence"


class Console:
    """On a published cluster. `seconds`: of the monotonic clock."""

    def __init__(self, ledger: LedgerTable | None = None, *, has_tables: bool = True) -> None:
        self.cluster = PublishedCluster()
        self.seconds = 0.0
        self.source = HandDrivenSource(Observed(snapshot([node("n1")]), self.cluster.clock.wall(), DEFAULT))
        self.feed = Feed(self.source, self.cluster.clock.wall)
        self.feed.observe(0)
        tables = ConsoleTables(
            self.cluster.table,
            InMemoryLeaseLock(self.cluster.item, lambda: "id"),
            Configurations(InMemoryConfigurationStore(self.cluster.item), BerthConfiguration),
            ledger,
        )
        source = TableHealth(tables, self.cluster.clock) if has_tables else None
        self.documents = HealthDocuments(self.feed, source, self.cluster.clock.wall, lambda: self.seconds)

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
    assert found["console"]["problem"] == ""


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
