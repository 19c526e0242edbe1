"""Items and tables that are lost: alone, together, or one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from berth.dynamodb import HEAD_KEY
from berth_cli.server.options import CACHE_TABLE, LEDGER_TABLE
from tests.chaos.faults.calls import thrown
from tests.chaos.set_up import SetUp

LOST_SECONDS = 5
"""Time in seconds for which the first of two tables does not exist."""

BACK_SECONDS = 120
"""The longest time in seconds in which Berth must repair the loss of the first of two tables."""

NO_TABLE = thrown(400, "ResourceNotFoundException")


@contextmanager
def head_lost(set_up: SetUp) -> Iterator[None]:
    set_up.tables.delete_item(TableName=CACHE_TABLE, Key=HEAD_KEY)
    yield


@contextmanager
def cache_emptied(set_up: SetUp) -> Iterator[None]:
    """Lose the cache and the applied configuration. Reservations must last until the configuration is applied again."""
    set_up.empty(CACHE_TABLE)
    yield
    set_up.apply_configuration()


@contextmanager
def cache_table_lost(set_up: SetUp) -> Iterator[None]:
    with set_up.without_table(CACHE_TABLE):
        yield
    set_up.apply_configuration()


def ledger_table_lost(set_up: SetUp) -> AbstractContextManager[None]:
    return set_up.without_table(LEDGER_TABLE)


@contextmanager
def both_tables_lost(set_up: SetUp) -> Iterator[None]:
    """Lose both tables and the record of counted resources in them: applying the configuration restores counting."""
    with set_up.tables_proxy.failing(1.0, (NO_TABLE,), set_up.random):
        with set_up.without_table(CACHE_TABLE), set_up.without_table(LEDGER_TABLE):
            yield
        set_up.apply_configuration()


@contextmanager
def ledger_lost_after_cache(set_up: SetUp) -> Iterator[None]:
    """Lose the cache, then the ledger. The ledger's copy restores the configuration in between."""
    with set_up.without_table(CACHE_TABLE):
        time.sleep(LOST_SECONDS)
    set_up.wait_until(set_up.has_configuration, BACK_SECONDS, "the applied configuration is in force again")
    with set_up.without_table(LEDGER_TABLE):
        yield


@contextmanager
def cache_lost_after_ledger(set_up: SetUp) -> Iterator[None]:
    """Lose the ledger, then the cache. Only the next leader would copy the configuration to the ledger, so apply it."""
    with set_up.without_table(LEDGER_TABLE):
        time.sleep(LOST_SECONDS)
    set_up.wait_until(set_up.has_ledger, BACK_SECONDS, "the ledger is rebuilt")
    with set_up.without_table(CACHE_TABLE):
        yield
    set_up.apply_configuration()
