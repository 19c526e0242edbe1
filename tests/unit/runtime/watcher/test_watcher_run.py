"""A run of the watcher function: its time limit, and the parts that act on its publications."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import COUNTING_LOST, Configurations, CountingLossCheck
from berth.dynamodb import HEAD_KEY
from berth.lease.clock import SystemClock
from berth.lease.dynamodb_lock import STANDBY_KEY
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import Claim, Domain
from berth.ledger.nodes.table import Marker, MarkerState
from berth.nodecache.feed.cluster import Added
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.adapters import CacheAdapters, cache_adapters
from berth.runtime.cluster_settings import WatcherMode, WatcherSettings
from berth.runtime.settings import PolicySettings
from berth.runtime.telemetry.telemetry import Observer
from berth.runtime.watcher import watcher_run
from berth.runtime.watcher.watcher_run import (
    HORIZON_SECONDS,
    LONGEST_SLEEP_SECONDS,
    MARGIN_SECONDS,
    Invocation,
    RunLimit,
    WatcherRun,
)
from berth.scheduling.configuration.document import BerthConfiguration, WakeUp
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.objects.projection import compact_pod
from berth.upkeep.gangs import GangEvent, GangEventType
from berth.upkeep.pod_events import PodEventReason
from tests.builders.counted import configuration
from tests.builders.tables import create_cache_table
from tests.fakes.clock import HandDrivenClock
from tests.fakes.pods import PodsInMemory
from tests.unit.ledger.nodes.ledger_tables import new_table
from tests.unit.runtime.telemetry.metric_lines import printed
from tests.unit.runtime.watcher.scripted_connection import ScriptedConnection

TABLE = "watcher-run"
DOCUMENT = '{"profile": "resource-segregation"}'


class LimitedRun:
    """A time limit and its clock. remaining: seconds until Lambda ends the invocation."""

    def __init__(self, remaining: float) -> None:
        self.clock = HandDrivenClock()
        ends_at = self.clock.now + remaining
        self.limit = RunLimit(lambda: ends_at - self.clock.now, self.clock, self.clock.sleep)


@pytest.mark.parametrize(
    ("remaining", "seconds", "slept"),
    [
        pytest.param(100.0, 0.2, 0.2, id="the requested time"),
        pytest.param(100.0, 2.0, LONGEST_SLEEP_SECONDS, id="at most half a second"),
        pytest.param(MARGIN_SECONDS + 0.3, 2.0, 0.3, id="not beyond the handover"),
        pytest.param(MARGIN_SECONDS - 1.0, 2.0, 0.0, id="not at all after the handover"),
    ],
)
def test_sleep_ends_by_the_handover_and_within_half_a_second(remaining: float, seconds: float, slept: float) -> None:
    run = LimitedRun(remaining)
    run.limit.sleep(seconds)
    assert run.clock.slept == [pytest.approx(slept)]


@pytest.mark.parametrize(
    ("remaining", "is_over"),
    [(MARGIN_SECONDS + 0.1, False), (MARGIN_SECONDS, True), (MARGIN_SECONDS - 0.1, True), (0.0, True)],
)
def test_run_is_over_when_the_handover_begins(remaining: float, is_over: bool) -> None:
    assert LimitedRun(remaining).limit.is_over() is is_over


def test_announced_handover_is_eight_seconds_before_the_end_and_fixed() -> None:
    run = LimitedRun(900.0)
    before = run.limit.handover(HORIZON_SECONDS)
    assert (before.at, before.horizon) == (run.clock.now + 892.0, HORIZON_SECONDS)
    run.clock.advance(60.0)
    assert run.limit.handover(HORIZON_SECONDS) == before


@pytest.fixture
def adapters(dynamodb: DynamoDBClient) -> Iterator[CacheAdapters]:
    create_cache_table(dynamodb, TABLE)
    yield cache_adapters(PolicySettings(cache_table=TABLE))
    dynamodb.delete_table(TableName=TABLE)


def invocation(mode: WatcherMode = WatcherMode.PERIODIC, standby: bool = False, remaining: float = 60.0) -> Invocation:
    environ = {"BERTH_CACHE_TABLE": TABLE, "BERTH_KUBECONFIG": "unused", "BERTH_WATCHER_MODE": mode.value}
    if standby:
        environ["BERTH_WATCHER_STANDBY"] = "true"
    settings = WatcherSettings.from_environ(environ)
    return Invocation(settings, settings.mode, RunLimit(lambda: remaining))


def test_periodic_run_publishes_once_and_releases_leases(adapters: CacheAdapters, dynamodb: DynamoDBClient) -> None:
    connection = ScriptedConnection("n1", "n2")
    run = WatcherRun(invocation(standby=True), adapters, connection)
    result = run.execute(adapters.configurations.at(""), lambda: False)
    assert (result.outcome, result.publications, result.nodes) == (WatcherOutcome.HANDED_OVER, 1, 2)
    assert connection.asked == [WakeUp.OBJECT, WatcherMode.PERIODIC]
    for key in (HEAD_KEY, STANDBY_KEY):
        item = dynamodb.get_item(TableName=TABLE, Key=key)["Item"]
        assert item["holderIdentity"] == {"S": ""}


def test_periodic_run_warms_up_each_verb_once(adapters: CacheAdapters, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run, a minute later, sends the next events."""
    invoked: list[str] = []

    class Functions:
        def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> Mapping[str, object]:  # noqa: N803
            invoked.append(FunctionName)
            return {}

    monkeypatch.setattr(watcher_run, "_lambda_client", Functions)
    settings = replace(invocation().settings, warm_up_functions=("filter:live", "bind:live"))
    once = replace(invocation(), settings=settings)
    WatcherRun(once, adapters, ScriptedConnection("n1")).execute(adapters.configurations.at(""), lambda: False)
    assert invoked == ["filter:live", "bind:live"]


def test_passes_each_publication_to_the_wake_up(adapters: CacheAdapters) -> None:
    connection = ScriptedConnection("n1")
    pod = {"metadata": {"namespace": "ml", "name": "train-0"}, "rejectedByBerth": True}
    connection.scripted.send("pods", Added(pod, "2"))
    WatcherRun(invocation(), adapters, connection).execute(adapters.configurations.at(""), lambda: False)
    assert connection.recorded.woken == [("ml/train-0",)]


def test_creates_event_for_pod_too_large_for_cache(
    adapters: CacheAdapters, caplog: pytest.LogCaptureFixture, metrics: pytest.CaptureFixture[str]
) -> None:
    connection = ScriptedConnection("n1")
    random = Random(1)
    labels = {f"key-{number}": f"{random.getrandbits(250):x}" for number in range(20_000)}
    metadata = {"namespace": "ml", "name": "large", "uid": "uid-large", "labels": labels}
    pod = compact_pod({"metadata": metadata, "spec": {"nodeName": "n1"}}, ())
    connection.scripted.send("pods", Added(pod, "2"))
    with caplog.at_level(logging.WARNING, logger="berth"):
        WatcherRun(invocation(), adapters, connection).execute(adapters.configurations.at(""), lambda: False)
    [(event, _)] = connection.events.written
    assert (event.uid, event.reason) == ("uid-large", PodEventReason.POD_REDUCED)
    assert "ml/large: the pod is too large for Berth's node cache" in caplog.text
    assert [line["Failures"] for line in printed(metrics) if "Failures" in line] == [[1.0]]


def test_hands_over_if_the_configuration_is_outdated(adapters: CacheAdapters) -> None:
    connection = ScriptedConnection("n1")
    run = WatcherRun(invocation(WatcherMode.CONTINUOUS, remaining=900.0), adapters, connection)
    result = run.execute(adapters.configurations.at(""), lambda: True)
    assert result.outcome is WatcherOutcome.HANDED_OVER
    assert result.publications <= 1


@pytest.mark.parametrize(
    ("mode", "warning"),
    [
        pytest.param(WatcherMode.PERIODIC, "managedResources need WatcherMode continuous", id="a periodic watcher"),
        pytest.param(WatcherMode.CONTINUOUS, "BERTH_LEDGER_TABLE is not set", id="a watcher without a ledger"),
    ],
)
def test_warns_if_counted_resources_are_not_reconciled(
    adapters: CacheAdapters, caplog: pytest.LogCaptureFixture, mode: WatcherMode, warning: str
) -> None:
    counting = Configurations(adapters.tables.configuration, configuration)
    with caplog.at_level(logging.WARNING, logger="berth"):
        run = WatcherRun(invocation(mode), adapters, ScriptedConnection("n1"))
        run.execute(counting.at(""), lambda: True)
    assert warning in caplog.text


@pytest.mark.parametrize(
    ("document", "is_open"),
    [
        pytest.param({"gangs": {"enabled": True}}, False, id="gangs are enabled"),
        pytest.param({}, True, id="gangs are not enabled"),
    ],
)
def test_periodic_run_checks_gangs_once(
    adapters: CacheAdapters, dynamodb: DynamoDBClient, document: Mapping[str, object], is_open: bool
) -> None:
    ledger = new_table(dynamodb)
    gangs = DynamoDBGangTable(dynamodb, ledger)
    gangs.put_domain(Domain(Claim(GangKey("ml", "train"), 0, until=2e9, opened_at=1.0), 1), Domain())
    with_gangs = replace(adapters, tables=replace(adapters.tables, gangs=lambda: gangs))
    given = Configurations(adapters.tables.configuration, lambda: BerthConfiguration.model_validate(document))
    connection, told = ScriptedConnection("n1", pods=PodsInMemory()), list[GangEvent]()
    run = WatcherRun(replace(invocation(), observer=Observer(gang=told.append)), with_gangs, connection)
    run.execute(given.at(""), lambda: False)
    assert (gangs.domain().open is not None) is is_open
    assert [event.type for event in told] == ([] if is_open else [GangEventType.TIMED_OUT])
    dynamodb.delete_table(TableName=ledger)


def test_warns_if_only_the_ledger_counts(adapters: CacheAdapters, caplog: pytest.LogCaptureFixture) -> None:
    marker = Marker(MarkerState.READY, 1, 0.0, "nonce")
    loss = CountingLossCheck(lambda: marker, lambda: False, SystemClock())
    lost = replace(adapters, loss=loss)
    with caplog.at_level(logging.WARNING, logger="berth"):
        run = WatcherRun(invocation(), lost, ScriptedConnection("n1"))
        run.execute(adapters.configurations.at(""), lambda: False)
    assert COUNTING_LOST in caplog.text


@pytest.mark.parametrize(
    ("restored", "warning"),
    [
        pytest.param("the ledger's copy is in force", "the applied configuration was restored: the ledger's", id="yes"),
        pytest.param(
            TableUnavailable("throttled"), "cannot tell whether a configuration was applied: throttled", id="unknown"
        ),
    ],
)
def test_logs_whether_the_configuration_was_restored_and_keeps_leading(
    adapters: CacheAdapters,
    dynamodb: DynamoDBClient,
    caplog: pytest.LogCaptureFixture,
    restored: str | TableUnavailable,
    warning: str,
) -> None:
    class Store(DynamoDBConfigurationStore):
        def restore(self) -> str:
            if isinstance(restored, str):
                return restored
            raise restored

    changed = replace(adapters, tables=replace(adapters.tables, configuration=Store(dynamodb, TABLE)))
    with caplog.at_level(logging.WARNING, logger="berth"):
        run = WatcherRun(invocation(), changed, ScriptedConnection("n1"))
        result = run.execute(adapters.configurations.at(""), lambda: False)
    assert (result.outcome, result.publications) == (WatcherOutcome.HANDED_OVER, 1)
    assert warning in caplog.text
