"""The bind function's endpoint: it connects to the cluster, reads counted resources and limits, and answers.

This is a separate module, so that the other verbs start without the code that reserves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache as cached
from random import random
from typing import TYPE_CHECKING
from uuid import uuid4

from botocore.config import Config

from berth.bind.announcing import Announcements
from berth.bind.answer import answer_bind, failed
from berth.bind.rules import (
    REFRESH_SECONDS,
    BindRules,
    CountingRight,
    RulesInForce,
)
from berth.bind.share import Reservations
from berth.configuration.store import ConfigurationInvalid, CountingLost
from berth.extender.deadline import BoundedReads, Deadline, DeadlinePassed
from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.reply import Reply
from berth.lease.clock import SystemClock
from berth.nodecache.binds_under_way import BindsUnderWay
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.table import TableUnavailable
from berth.pods import PodBinder
from berth.runtime.adapters import cache_adapters, counting_loss_check
from berth.runtime.cluster import connect, import_kubeconfig
from berth.runtime.cluster_settings import BindSettings
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.runtime.telemetry.metrics import CacheMetrics, wait_for_gang

if TYPE_CHECKING:
    from berth.bind.gang.barrier import GangBarrier

CALL_SECONDS = 0.5
"""The most seconds that bind waits for a connection to a table, and for each read."""

log = logging.getLogger("berth")


def _new_id() -> str:
    return uuid4().hex


def rules_of(settings: BindSettings) -> Callable[[], BindRules]:
    """Return a function that reads the rules in force. This does not read tables."""
    if not settings.ledger_table:
        rules = BindRules(schedulers=settings.scheduler_names)
        return lambda: rules
    # A reservation makes two calls, and the Binding needs time as well. The client does not retry: bind retries itself
    # if there is time.
    seconds = min(CALL_SECONDS, (settings.http_timeout - 1) / 6)
    calls = Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 1})
    adapters = cache_adapters(settings, calls)
    ledger = adapters.tables.ledger
    assert ledger is not None  # the settings name its table
    reservations = Reservations(ledger, _new_id, time.time, call_seconds=2 * seconds)
    announcement_log, gangs, identity = adapters.tables.announcements, adapters.tables.gangs, adapters.tables.identity
    # All of them are in the ledger's table.
    assert announcement_log is not None
    assert gangs is not None
    assert identity is not None
    # Do not read reservations: the write to the ledger checks them.
    under_way = BindsUnderWay(None, adapters.announcements(), adapters.placed)
    cache = adapters.node_cache(under_way, CacheMetrics("bind", time.time).record, is_for_bind=True)

    @cached
    def barrier() -> GangBarrier:
        # Imported only if gangs are enabled: a cold start without them does not need it.
        from berth.bind.gang.barrier import GangBarrier

        return GangBarrier(gangs(), ledger, cache, _new_id, time.time, wait_for_gang, 2 * seconds)

    @cached
    def right() -> CountingRight | None:
        lease = connect(settings).ledger_lease
        return None if lease is None else CountingRight(lease, identity())

    return RulesInForce(
        adapters.tables.cache.configuration_hash,
        adapters.configurations,
        reservations,
        SystemClock(),
        log.warning,
        counting_loss_check(ledger, adapters.tables.configuration),
        Announcements(announcement_log, cache, _new_id, time.time, time.sleep, random),
        barrier,
        refresh_seconds=0.0 if adapters.tables.in_process else REFRESH_SECONDS,
        right=right,
        schedulers=settings.scheduler_names,
        cache=cache,
    ).current


DEADLINE_PASSED = (
    "the deadline passed before the configuration and the credentials were read: a cold start, or a slow table"
)


def bind_endpoint(endpoint: EndpointSettings, settings: BindSettings) -> VerbEndpoint:
    """Return the endpoint for these settings. This does not read tables."""
    import_kubeconfig(settings)
    handler = BindHandler(settings, rules_of(settings))
    return VerbEndpoint("bind", endpoint, handler.answer, failed, handler.warm_up)


class BindHandler:
    def __init__(self, settings: BindSettings, rules: Callable[[], BindRules]) -> None:
        self._settings = settings
        self._rules = rules
        self._reads = BoundedReads()

    def answer(self, body: str | bytes, deadline: Deadline) -> Reply:
        try:
            rules, binder = self._reads.before(deadline, self._connected)
        except DeadlinePassed:
            return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, DEADLINE_PASSED))
        except ClusterUnavailable as error:
            return failed(Failure(FailureOutcome.CLUSTER_UNAVAILABLE, str(error)))
        except CountingLost as error:
            return failed(Failure(FailureOutcome.COUNTING_LOST, str(error)))
        except (TableUnavailable, ConfigurationInvalid) as error:
            reason = f"Berth does not know which resources are counted: {error}"
            return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, reason))
        return answer_bind(body, binder, deadline, rules)

    def warm_up(self) -> int:
        """Connect, and read which resources are counted. Return 0 as the version, because bind does not have a
        snapshot. A step that fails here fails again in the next call, which reports it."""
        with suppress(ClusterUnavailable, CountingLost, TableUnavailable, ConfigurationInvalid):
            self._connected()
        return 0

    def _connected(self) -> tuple[BindRules, PodBinder]:
        """Return the rules and the binder. Raises ClusterUnavailable, CountingLost, TableUnavailable and
        ConfigurationInvalid."""
        return self._rules(), connect(self._settings).binder
