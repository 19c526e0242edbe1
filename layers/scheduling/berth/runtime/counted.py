"""What bind counts, put together for one warm environment."""

from __future__ import annotations

import time
from uuid import uuid4

import boto3
from botocore.config import Config

from berth.lease.clock import SystemClock
from berth.nodecache.counted_in_force import CountedInForce
from berth.reservations.bind import LedgerReservations
from berth.reservations.dynamodb_table import DynamoDBLedgerTable
from berth.runtime.adapters import cache_adapters, log
from berth.runtime.settings import BindSettings

MOST_SECONDS = 0.5
"""For a connection, and for each read from it."""


def counted_in_force(settings: BindSettings) -> CountedInForce | None:
    """None where the function has no ledger. Building it reads nothing."""
    if not settings.ledger_table:
        return None
    # A reservation is two calls, and the Binding needs its time, too. Nothing is repeated by the client: bind does
    # that itself, as long as there is time.
    seconds = min(MOST_SECONDS, (settings.http_timeout - 1) / 6)
    calls = Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1})
    adapters = cache_adapters(settings.policy, calls)
    table = DynamoDBLedgerTable(boto3.client("dynamodb", config=calls), settings.ledger_table)
    reservations = LedgerReservations(table, lambda: uuid4().hex, time.time, call_seconds=2 * seconds)
    return CountedInForce(adapters.table, adapters.configurations, reservations, SystemClock(), log.warning)
