"""Destinations of a function's decisions: its log, or a place set by process and configuration."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from queue import Queue

import orjson
import pytest
from botocore.config import Config

from berth.decisions.recorders import DynamoDBDecisionTable
from berth.runtime.decisions import SampledLog, decision_recorder, decisions_recorded_by
from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables, tables_opened_by
from berth.runtime.telemetry.telemetry import SERVICE
from berth.scheduling.configuration.document import BerthConfiguration, Decisions
from berth_cli.server.recent_decisions import RecentDecisions
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.published import PublishedCluster
from tests.fakes.verbs import Verbs


class FakeTable(DynamoDBDecisionTable):
    def __init__(self) -> None:
        self.names: Queue[object] = Queue()

    def put(self, document: Mapping[str, object]) -> None:
        self.names.put(document["name"])


def opened(table: DynamoDBDecisionTable | None) -> Tables:
    cluster = PublishedCluster()
    lock = InMemoryLeaseLock(InMemoryItem(), lambda: "id")
    decisions = None if table is None else lambda: table
    return Tables(
        cluster.table, InMemoryConfigurationStore(cluster.item), lambda: lock, lambda: lock, decisions=decisions
    )


def test_records_in_the_table_if_the_configuration_selects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_CACHE_TABLE", "cache")
    table, asked = FakeTable(), list[str]()

    def open_tables(settings: PolicySettings, calls: Config) -> Tables:
        asked.append(settings.cache_table)
        return opened(table)

    with tables_opened_by(open_tables):
        recorder = decision_recorder()
    assert asked == []
    monkeypatch.setenv("BERTH_CACHE_TABLE", "of another function")
    configuration = BerthConfiguration.model_validate({"decisions": "table"})
    verbs = Verbs([labelled("a", "1")], configuration=configuration, recorder=recorder)
    for _ in range(2):
        verbs.ask("filter", cache_mode(["a"]))
    assert [table.names.get(timeout=30) for _ in range(2)] == ["train-0", "train-0"]
    assert asked == ["cache"]


def test_verb_responds_if_the_store_does_not_have_a_decision_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_CACHE_TABLE", "cache")
    with tables_opened_by(lambda settings, calls: opened(None)):
        recorder = decision_recorder()
    configuration = BerthConfiguration.model_validate({"decisions": "table"})
    answer = Verbs([labelled("a", "1")], configuration=configuration, recorder=recorder).ask(
        "filter", cache_mode(["a"])
    )
    assert answer.json["NodeNames"] == ["a"]


@pytest.mark.parametrize(
    ("document", "kept"), [pytest.param({}, 1, id="by default"), pytest.param({"decisions": "off"}, 0, id="disabled")]
)
def test_records_in_process_memory_unless_decisions_are_off(document: Mapping[str, str], kept: int) -> None:
    recent = RecentDecisions(lambda: 0.0)
    with decisions_recorded_by({Decisions.MEMORY: recent}):
        recorder = decision_recorder()
    configuration = BerthConfiguration.model_validate(document)
    Verbs([labelled("a", "1")], configuration=configuration, recorder=recorder).ask("filter", cache_mode(["a"]))
    assert len(recent.all()) == kept


def test_further_recorders_get_every_decision_even_if_decisions_are_off() -> None:
    further = RecentDecisions(lambda: 0.0)
    with decisions_recorded_by({}, [further]):
        recorder = decision_recorder()
    configuration = BerthConfiguration.model_validate({"decisions": "off"})
    Verbs([labelled("a", "1")], configuration=configuration, recorder=recorder).ask("filter", cache_mode(["a"]))
    assert len(further.all()) == 1


@pytest.mark.parametrize(
    ("level", "lines"), [pytest.param(logging.INFO, 1, id="INFO"), pytest.param(logging.WARNING, 0, id="WARNING")]
)
def test_log_contains_the_second_decision_at_info_level(
    level: int, lines: int, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(level, logger=SERVICE)
    verbs = Verbs([labelled("a", "1")], recorder=decision_recorder())
    for name in ("first", "second", "third"):
        verbs.ask("filter", cache_mode(["a"], pod_object(name)))
    decisions = [line for line in capsys.readouterr().out.splitlines() if '"message":"decision"' in line]
    assert [orjson.loads(line)["name"] for line in decisions] == ["second"] * lines


def test_logs_the_second_decision_and_every_nth_after_it() -> None:
    written: list[dict[str, object]] = []
    verbs = Verbs([labelled("a", "1")], recorder=SampledLog(written.append, lambda: 5.0, 3))
    for number in range(7):
        verbs.ask("filter", cache_mode(["a"], pod_object(f"p{number}")))
    assert [each["name"] for each in written] == ["p1", "p4"]
