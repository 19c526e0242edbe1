"""One candidacy of the watcher, put together: lease, cluster, table, and what follows a publication."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import boto3

from berth.cluster.field_projection import rejected_by_berth
from berth.configuration.store import Configured
from berth.lease.clock import SystemClock
from berth.lease.config import HandOver, LeaderElectionConfig
from berth.lease.dynamodb_item import HEAD_KEY, STANDBY_KEY
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector, new_identity
from berth.lease.outcomes import BecameLeader, LeaderCallbacks
from berth.lease.standby import Standby
from berth.nodecache.feed.leader import Publication
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.watcher import RunResult, Watcher
from berth.reservations.reconciler.events import WARNING_EVENTS, ReservationEvent
from berth.reservations.reconciler.reconciler import Reconciler
from berth.runtime.adapters import CALLS, CacheAdapters, ledger_table, log
from berth.runtime.cluster import Connection
from berth.runtime.settings import WatcherMode, WatcherSettings
from berth.runtime.telemetry.watcher_metrics import WatcherMetrics
from berth.runtime.watcher.background_reconciler import BackgroundReconciler
from berth.runtime.watcher.warm_up import LambdaClient, WarmUp
from berth.scheduling_queue.queue import BackgroundQueue
from berth.scheduling_queue.wake_up import WakeUp

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

MARGIN_SECONDS = 8.0
"""Left of the function's time for the hand-over: release the lease, end the watches, answer."""

HORIZON_SECONDS = 185.0
"""A candidate waits for a hand-over that is announced within this time. Two starts can be two minutes apart, three if
one is dropped, and a cold one comes some seconds late."""

NAP_SECONDS = 0.5
"""The longest sleep, so that a run ends soon after it is told to."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run has to do, and by `remaining` how many seconds are left of it."""

    settings: WatcherSettings
    mode: WatcherMode
    remaining: Callable[[], float]

    def is_over(self) -> bool:
        """Whether it is time for the hand-over."""
        return self.remaining() <= MARGIN_SECONDS

    def sleep(self, seconds: float) -> None:
        """A nap: not for longer than the run lasts, and no longer than it takes to notice that it ends."""
        time.sleep(max(0.0, min(seconds, NAP_SECONDS, self.remaining() - MARGIN_SECONDS)))

    def handover(self, horizon: float) -> HandOver:
        """At the end of this run."""
        return HandOver(time.time() + self.remaining() - MARGIN_SECONDS, horizon)


class WatcherRun:
    """From standing for election to the hand-over; once."""

    def __init__(self, run: Run, adapters: CacheAdapters, connection: Connection) -> None:
        self._run = run
        self._adapters = adapters
        self._connection = connection
        self._clock = SystemClock()
        self._metrics = WatcherMetrics(self._clock.wall)
        self._identity = new_identity("watcher")
        self._standby = Standby(self._elector(STANDBY_KEY, run.handover(HORIZON_SECONDS), LeaderCallbacks()))

    def stand(self, configured: Configured, is_past: Callable[[], bool]) -> RunResult:
        """Until the run or the configuration is past, or until there is nothing to do."""
        with ExitStack() as ending:
            ending.callback(self._metrics.close)
            queue = BackgroundQueue(self._connection.queue(configured.node_cache.wake_up), log.warning)
            ending.callback(queue.close)
            warm_up = WarmUp(_lambda, self._run.settings.warm_up_functions, self._clock.monotonic, log.warning)
            ending.callback(warm_up.close)
            ending.callback(self._standby.leave)
            wake_up = WakeUp(queue, rejected_by_berth, self._clock.monotonic)
            reconciler = self._reconciler(configured, wake_up.made_room)
            if reconciler is not None:
                ending.callback(reconciler.close)

            def on_published(publication: Publication) -> None:
                self._metrics.published(len(publication.changes), publication.observation.observed_at)
                if reconciler is not None:
                    reconciler.published(publication)
                wake_up.published(publication.changes, publication.objects)
                warm_up.published()

            return Watcher(
                self._elector(HEAD_KEY, self._run.handover(self._horizon()), LeaderCallbacks(self._became_leader)),
                self._connection.cluster(configured.policy, self._run.mode),
                self._adapters.table,
                clock=self._clock,
                sleep=self._wait,
                stopped=lambda: self._run.is_over() or is_past(),
                new_id=lambda: uuid4().hex,
                on_published=on_published,
                once=self._run.mode is WatcherMode.PERIODIC,
            ).run()

    def _reconciler(self, configured: Configured, made_room: Callable[[], None]) -> BackgroundReconciler | None:
        """For what the configuration counts."""
        counting = configured.policy.counting
        if not counting.counts:
            return None
        if self._run.mode is WatcherMode.PERIODIC:
            if self._run.settings.mode is WatcherMode.PERIODIC:
                # It is gone before a bind is old enough to be looked after.
                log.warning("managedResources need WatcherMode continuous: nothing that is held will be given back")
            return None
        table = ledger_table(self._run.settings, self._adapters.client)
        if table is None:
            log.warning("managedResources are configured, and BERTH_LEDGER_TABLE is not set: nothing is counted")
            return None

        def report(event: ReservationEvent) -> None:
            report_reservations(event)
            self._metrics.happened(event)

        def begin(epoch: int) -> Reconciler:
            return Reconciler(
                table,
                self._connection.reserved_pods,
                counting,
                epoch,
                self._run.settings.http_timeout,
                wall=self._clock.wall,
                monotonic=self._clock.monotonic,
                new_id=lambda: uuid4().hex,
                report=report,
                on_capacity_released=made_room,
            )

        return BackgroundReconciler(begin)

    def _horizon(self) -> float:
        waits = self._run.settings.standby and self._standby.take_place(self._run.sleep, self._run.is_over)
        return math.inf if waits else HORIZON_SECONDS

    def _wait(self, seconds: float) -> None:
        self._run.sleep(seconds)
        self._standby.keep_place()

    def _became_leader(self, record: BecameLeader) -> None:
        log.info(str(record))
        self._metrics.became_leader()
        self._standby.leave()
        try:
            self._adapters.store.restore()
        except TableUnavailable as error:
            log.warning(f"whether a configuration was applied is not known: {error}")

    def _elector(
        self, key: dict[str, UniversalAttributeValueTypeDef], handover: HandOver, callbacks: LeaderCallbacks
    ) -> LeaderElector:
        return LeaderElector(
            DynamoDBLeaseLock(self._adapters.client, self._run.settings.cache_table, key=key),
            LeaderElectionConfig(),
            self._identity,
            self._clock,
            random.random,
            callbacks,
            handover,
        )


def report_reservations(event: ReservationEvent) -> None:
    """As lines of the log."""
    log.log(logging.WARNING if event.type in WARNING_EVENTS else logging.DEBUG, "reservations: %s", event)


def _lambda() -> LambdaClient:
    client: LambdaClient = boto3.client("lambda", config=CALLS)
    return client
