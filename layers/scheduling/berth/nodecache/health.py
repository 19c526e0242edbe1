"""Whether the verbs can decide on the cache, and how old its data is."""

from __future__ import annotations

from enum import StrEnum

from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.lease.clock import Clock
from berth.nodecache.feed.head import FUTURE_SCHEMA
from berth.nodecache.feed.reader import NOTHING_PUBLISHED
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.staleness import StalenessReason


class HealthOutcome(StrEnum):
    """The result of a health check. STALE: the data is older than maxStaleness; verbs do as `whenStale` says."""

    OK = "ok"
    STALE = "failure-cache-stale"
    UNAVAILABLE = "failure-cache-unavailable"


def health(
    table: CacheTable, configurations: Configurations, clock: Clock, staleness: StalenessReason
) -> tuple[HealthOutcome, dict[str, object]]:
    """One read of the head. Ages are in seconds. `staleness`: the same object for all checks of a process."""
    try:
        head = table.head()
        rules = configurations.at("" if head is None else head.configuration_hash).node_cache
    except (TableUnavailable, ConfigurationInvalid) as error:
        return _unavailable(str(error))
    if head is None or head.pointer is None:
        return _unavailable(NOTHING_PUBLISHED)
    pointer = head.pointer
    if not pointer.is_readable:
        return _unavailable(FUTURE_SCHEMA)
    staleness.note(pointer)
    now = clock.wall()
    age = now - pointer.observation.observed_at
    is_stale = age > rules.max_staleness
    outcome = HealthOutcome.STALE if is_stale else HealthOutcome.OK
    return outcome, {
        "status": outcome,
        **({"reason": staleness.reason(pointer, rules.max_staleness)} if is_stale else {}),
        "version": pointer.version,
        "observedAgeSeconds": round(age, 3),
        "maxStalenessSeconds": rules.max_staleness,
        "heartbeatAgeSeconds": round(now - pointer.heartbeat, 3),
        "writerVersion": pointer.writer_version,
        "configurationHash": head.configuration_hash,
    }


def _unavailable(reason: str) -> tuple[HealthOutcome, dict[str, object]]:
    return HealthOutcome.UNAVAILABLE, {"status": HealthOutcome.UNAVAILABLE, "reason": reason}
