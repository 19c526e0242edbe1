"""Whether the cache can be decided on, and how old its data is."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from berth.nodecache.head import SCHEMA_VERSION
from berth.nodecache.reader import FUTURE_SCHEMA, NOTHING_PUBLISHED
from berth.nodecache.table import CacheTable, TableUnavailable


class HealthOutcome(StrEnum):
    """What a health check found."""

    OK = "ok"
    UNAVAILABLE = "failure-cache-unavailable"


def health(table: CacheTable, clock: Callable[[], float]) -> tuple[HealthOutcome, dict[str, object]]:
    """One read of the head. Ages are in seconds."""
    try:
        head = table.head()
    except TableUnavailable as error:
        return HealthOutcome.UNAVAILABLE, {"status": HealthOutcome.UNAVAILABLE, "reason": str(error)}
    if head is None or head.schema_version > SCHEMA_VERSION:
        reason = NOTHING_PUBLISHED if head is None else FUTURE_SCHEMA
        return HealthOutcome.UNAVAILABLE, {"status": HealthOutcome.UNAVAILABLE, "reason": reason}
    now = clock()
    return HealthOutcome.OK, {
        "status": HealthOutcome.OK,
        "version": head.version,
        "observedAgeSeconds": round(now - head.observed_at, 3),
        "heartbeatAgeSeconds": round(now - head.heartbeat, 3),
        "writerVersion": head.writer_version,
    }
