"""The health check: whether the verbs can use the cache, and how old its data is."""

from __future__ import annotations

from enum import StrEnum

from berth.configuration.store import ConfigurationInvalid, Configurations, CountingLossCheck, CountingLost
from berth.lease.clock import Clock
from berth.nodecache.feed.reader import NOTHING_PUBLISHED
from berth.nodecache.feed.table import CacheTable, TableUnavailable
from berth.nodecache.warm_node_cache import StalenessReason


class HealthOutcome(StrEnum):
    """Outcomes of the check. STALE: the data is older than maxStaleness. COUNTING_LOST: the verbs reject all pods,
    because the configuration does not count although the ledger does. COUNTED_ELSEWHERE: the verbs reject pods that
    request counted resources, because another store counts them."""

    OK = "ok"
    STALE = "failure-cache-stale"
    UNAVAILABLE = "failure-cache-unavailable"
    COUNTING_LOST = "failure-counting-lost"
    COUNTED_ELSEWHERE = "failure-counted-elsewhere"


def health(
    table: CacheTable,
    configurations: Configurations,
    clock: Clock,
    staleness: StalenessReason,
    loss: CountingLossCheck | None = None,
) -> tuple[HealthOutcome, dict[str, object]]:
    """Check the health with one read of the head. Return the outcome and its details; ages are in seconds. staleness:
    shared by all checks of a process. loss: used if the configuration does not count; None without a ledger."""
    try:
        head = table.head()
        configured = configurations.at("" if head is None else head.configuration_hash)
        if loss is not None and not configured.policy.counting.counts:
            loss.raise_if_lost()
    except CountingLost as error:
        return HealthOutcome.COUNTING_LOST, {"status": HealthOutcome.COUNTING_LOST, "reason": str(error)}
    except (TableUnavailable, ConfigurationInvalid) as error:
        return _unavailable(str(error))
    if head is not None and head.counting_refusal and configured.policy.counting.counts:
        status = HealthOutcome.COUNTED_ELSEWHERE
        return status, {"status": status, "reason": head.counting_refusal}
    rules = configured.node_cache
    if head is None or head.pointer is None:
        return _unavailable(NOTHING_PUBLISHED)
    pointer = head.pointer
    if pointer.unreadable_reason:
        return _unavailable(pointer.unreadable_reason)
    staleness.note(pointer)
    difference = configured.plugin_difference(head.plugin_version)
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
        **({"configurationFallback": configured.fallback} if configured.fallback else {}),
        **({"pluginVersion": configured.plugin_version} if configured.plugin_version else {}),
        **({"pluginDifference": difference} if difference else {}),
    }


def installation(table: CacheTable, configurations: Configurations) -> dict[str, object]:
    """Return the UID of the cache's cluster, and the configuration in use without its defaults. Reads the head again.
    Empty if the table or the configuration cannot be read; the health check reports the reason."""
    try:
        head = table.head()
        document = configurations.at("" if head is None else head.configuration_hash).document
    except (TableUnavailable, ConfigurationInvalid):
        return {}
    pointer = None if head is None else head.pointer
    return {
        "cluster": "" if pointer is None else pointer.observation.cluster_uid.partition("/")[0],
        "configuration": document.model_dump(mode="json", by_alias=True, exclude_defaults=True),
    }


def _unavailable(reason: str) -> tuple[HealthOutcome, dict[str, object]]:
    return HealthOutcome.UNAVAILABLE, {"status": HealthOutcome.UNAVAILABLE, "reason": reason}
