"""bind's handler: reads that exceed the deadline, and the document in force."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import orjson
import pytest

from berth.bind.rules import RulesInForce
from berth.bind.share import Reservations
from berth.configuration.store import Configurations, CountingLossCheck
from berth.extender.deadline import PASSED, Deadline
from berth.lease.clock import SystemClock
from berth.runtime.cluster_settings import BindSettings
from berth.runtime.http.bind_endpoint import DEADLINE_PASSED, BindHandler, rules_of
from berth.runtime.tables import tables_opened_by
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.embedded_store import EmbeddedStore
from berth_cli.server.store.lease_lock import InMemoryItem
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.requests import binding, body_of


def handler(read_hash: Callable[[], str]) -> BindHandler:
    ledger, clock = InMemoryLedgerTable(), SystemClock()
    store = InMemoryConfigurationStore(InMemoryItem())
    configuration = RulesInForce(
        read_hash,
        Configurations(store, BerthConfiguration),
        Reservations(ledger, lambda: "id", time.time, call_seconds=1),
        clock,
        pytest.fail,
        CountingLossCheck(ledger.marker, store.counting_is_stopped, clock),
    )
    return BindHandler(BindSettings(kubeconfig=Path("/absent")), configuration.current)


def error(handler: BindHandler, deadline: Deadline) -> str:
    found: str = orjson.loads(handler.answer(body_of(binding()), deadline).body)["Error"]
    return found


def test_bind_abandons_a_read_that_exceeds_the_deadline() -> None:
    over = Event()
    assert error(handler(lambda: str(over.wait(10))), Deadline(0.05, time.monotonic)) == DEADLINE_PASSED
    over.set()


def test_bind_does_not_start_a_read_after_the_deadline() -> None:
    assert error(handler(lambda: pytest.fail("read")), PASSED) == DEADLINE_PASSED


SETTINGS = BindSettings(
    cache_table="memory", ledger_table="memory", in_cluster=True, configuration='{"profile": "label-priority"}'
)


def test_uses_an_applied_document_at_once_in_the_process_of_its_store() -> None:
    store = EmbeddedStore()
    with tables_opened_by(store.open):
        current = rules_of(SETTINGS)
    assert current().announcements is None
    store.configuration.apply('{"profile": "full"}')
    assert current().announcements is not None
