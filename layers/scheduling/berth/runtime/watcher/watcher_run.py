"""One run of the watcher: its lease, cluster and table, and the parts that act on each publication.

Parts that act on a publication: metrics, events on pods, the reconciler of the ledger, the wake-up of waiting pods, the
warm-up of the verbs' functions, the check whether schedulers can call them, the work for gangs, and pool levels.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

from berth.cluster.watch.watches import LOOK_SECONDS
from berth.configuration.store import ActiveConfiguration, CountingLost
from berth.lease.clock import SystemClock
from berth.lease.config import BecameLeader, Handover, LeaderCallbacks, LeaderElectionConfig
from berth.lease.elector import LeaderElector, Standby, new_identity
from berth.nodecache.feed.leader import INTERVALS, Publication, PublishIntervals
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.watcher import RunResult, Watcher
from berth.runtime.adapters import CacheAdapters, log
from berth.runtime.aws_clients import CALLS, LambdaClient, aws_client
from berth.runtime.cluster import Connection
from berth.runtime.cluster_settings import WatcherMode, WatcherSettings
from berth.runtime.telemetry.metrics import Metrics
from berth.runtime.telemetry.telemetry import Observer
from berth.runtime.telemetry.watcher_metrics import WatcherMetrics
from berth.runtime.watcher.background import BackgroundSteps, ReconcilerFeed, WarmUp
from berth.runtime.watcher.gang_work import GangWork
from berth.runtime.watcher.pool_levels import PoolLevels
from berth.runtime.watcher.scheduler_access import SchedulerAccess
from berth.upkeep.ledger_holder import LedgerHolder
from berth.upkeep.pod_events import OmittedPods, Recorder, reservation_event
from berth.upkeep.reconciler.events import WARNING_EVENTS, ReservationEvent, ReservationEventType
from berth.upkeep.reconciler.reconciler import Reconciler
from berth.upkeep.wake_up import WakeUp, waiting_pod

MARGIN_SECONDS = 8.0
"""The watcher stops this many seconds before Lambda ends it, to release the lease, end the watches and answer."""

HORIZON_SECONDS = 185.0
"""A candidate waits if a handover is announced within this many seconds. Two starts are up to two minutes apart, three
if one is dropped, and a cold start takes some seconds."""

LONGEST_SLEEP_SECONDS = 0.5
"""The longest sleep, so that a run ends soon after its time is over."""

IN_PROCESS = PublishIntervals(flush=LOOK_SECONDS, pause=0.0)
"""Intervals for a store in this process: publish after each read of the watches, because it does not need a request."""


@dataclass(frozen=True, slots=True)
class RunLimit:
    """The time left to an invocation. remaining: seconds until Lambda ends it. wall: seconds since the epoch."""

    remaining: Callable[[], float]
    wall: Callable[[], float] = time.time
    pause: Callable[[float], None] = time.sleep

    def is_over(self) -> bool:
        return self._usable() <= 0.0

    def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds, but at most LONGEST_SLEEP_SECONDS, and not beyond the handover."""
        self.pause(max(0.0, min(seconds, LONGEST_SLEEP_SECONDS, self._usable())))

    def handover(self, horizon: float) -> Handover:
        """Return the handover at the end of the usable time. horizon: see Handover."""
        return Handover(self.wall() + self._usable(), horizon)

    def _usable(self) -> float:
        return self.remaining() - MARGIN_SECONDS


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation of the watcher function. on_new_leader: called with each new holder of the lease."""

    settings: WatcherSettings
    mode: WatcherMode
    limit: RunLimit
    metrics: Metrics = field(default_factory=Metrics)
    on_new_leader: Callable[[str], None] = lambda _: None
    observer: Observer = field(default_factory=Observer)


class WatcherRun:
    def __init__(self, invocation: Invocation, adapters: CacheAdapters, connection: Connection) -> None:
        self._settings = invocation.settings
        self._mode = invocation.mode
        self._limit = invocation.limit
        self._invocation = invocation
        self._adapters = adapters
        self._tables = adapters.tables
        self._connection = connection
        self._clock = SystemClock()
        self._metrics = WatcherMetrics(self._clock.wall, invocation.metrics)
        self._identity = new_identity("watcher")
        self._reconciler_feed: ReconcilerFeed | None = None
        self._elector = partial(
            LeaderElector,
            config=LeaderElectionConfig(),
            identity=self._identity,
            clock=self._clock,
            random=random.random,
        )
        self._standby = Standby(
            self._elector(self._tables.standby_lock(), handover=self._limit.handover(HORIZON_SECONDS))
        )

    def execute(self, configured: ActiveConfiguration, is_outdated: Callable[[], bool]) -> RunResult:
        """Run until the time is over, the configuration is outdated, or this candidate is not needed."""
        with ExitStack() as cleanup:
            cleanup.callback(self._metrics.close)
            wake_up = WakeUp(
                self._connection.queue(configured.node_cache.wake_up),
                partial(waiting_pod, configured.policy),
                self._clock,
                log.warning,
                configured.node_cache.readable_after,
            )
            once = self._mode is WatcherMode.PERIODIC
            wake_ups = BackgroundSteps(wake_up.step, "wake-up", "waiting pods were not woken", once=once)
            cleanup.callback(wake_ups.close)
            warm_up = WarmUp(_lambda_client, self._settings.warm_up_functions, log.warning)
            warm_ups = BackgroundSteps(warm_up.step, "warm-up", "the functions were not warmed up", once=once)
            cleanup.callback(warm_ups.close)
            access = SchedulerAccess(
                self._settings.scheduler_names, self._tables.allow_list, self._invocation.metrics, self._clock.wall
            )
            access_checks = BackgroundSteps(access.step, "access", "the schedulers' access was not checked", once=once)
            cleanup.callback(access_checks.close)
            cleanup.callback(self._standby.release)
            pod_events = Recorder(
                self._connection.pod_events(self._identity),
                self._clock.wall,
                self._clock.monotonic,
                lambda: uuid4().hex,
                log.warning,
            )
            cleanup.callback(pod_events.close)
            omitted_pods = OmittedPods()
            gangs = self._gang_work(configured, wake_up.capacity_freed, pod_events)
            feed = self._reconciler_feed = self._reconciler(configured, wake_up.capacity_freed, pod_events, gangs)
            steps: list[BackgroundSteps] = []
            if feed is not None:
                reconciling = BackgroundSteps(feed.step, "reservations", "the reservations were not reconciled")
                cleanup.callback(reconciling.close)
                steps = self._holder()
            observers: list[Callable[[Publication], None]] = []
            if gangs is not None and configured.policy.gangs.enabled:
                steps += gangs.steps()
                observers.append(gangs.published)
            for levels in self._pool_levels(configured):
                steps.append(BackgroundSteps(levels.step, "pools", "the pools were not measured", once=once))
                observers.append(levels.published)
            # The pods of a dump do not have a scheduler.
            observers += [wake_up.published, *([access.published] if self._settings.dump is None else [])]
            for each in steps:
                cleanup.callback(each.close)
            # Wake waiting pods after the work that may free capacity.
            steps += [wake_ups, warm_ups, access_checks]

            def on_published(publication: Publication) -> None:
                self._metrics.published(publication.observation.observed_at, is_incomplete=bool(publication.omissions))
                for event in omitted_pods.new(publication):
                    log.warning("%s/%s: %s", event.namespace, event.name, event.note)
                    pod_events.record(event)
                if feed is not None and feed.published(publication):
                    reconciling.published()
                    reconciling.run_soon()
                for observe in observers:
                    observe(publication)
                for each in steps:
                    each.published()
                wake_ups.run_soon()

            return Watcher(
                self._elector(
                    self._tables.head_lock(),
                    callbacks=LeaderCallbacks(self._started_leading, new_leader=self._invocation.on_new_leader),
                    handover=self._limit.handover(self._horizon()),
                    epoch_floor=self._epoch_floor,
                ),
                self._connection.cluster(configured.policy, self._mode),
                self._tables.cache,
                clock=self._clock,
                sleep=self._limit.sleep,
                stopped=lambda: self._limit.is_over() or is_outdated() or self.has_stale_epoch,
                new_id=lambda: uuid4().hex,
                on_published=on_published,
                on_trouble=self._invocation.observer.trouble,
                may_wait=self._standby.may_wait,
                once=once,
                intervals=IN_PROCESS if self._tables.in_process else INTERVALS,
            ).run()

    def _reconciler(
        self,
        configured: ActiveConfiguration,
        capacity_freed: Callable[[], None],
        pod_events: Recorder,
        gangs: GangWork | None,
    ) -> ReconcilerFeed | None:
        """Return the reconciler, or None if nothing is counted or this run cannot reconcile."""
        counting = configured.policy.counting
        if not counting.counts:
            self._warn_if_counting_is_lost()
            return None
        if self._mode is WatcherMode.PERIODIC:
            if self._settings.mode is WatcherMode.PERIODIC:
                # A periodic run ends before any reservation is old enough to be reconciled.
                log.warning("managedResources need WatcherMode continuous: reservations are not released")
            return None
        table = self._tables.ledger
        if table is None:
            log.warning("managedResources are configured, but BERTH_LEDGER_TABLE is not set: no resource is counted")
            return None

        def report(event: ReservationEvent) -> None:
            self._report(event)
            on_pod = reservation_event(event)
            if on_pod is not None:
                pod_events.record(on_pod)

        def begin(epoch: int) -> Reconciler:
            return Reconciler(
                table,
                self._connection.reserved_pods,
                counting,
                epoch,
                self._settings.http_timeout,
                wall=self._clock.wall,
                monotonic=self._clock.monotonic,
                new_id=lambda: uuid4().hex,
                report=report,
                on_capacity_released=capacity_freed,
                is_lost_with_process=self._tables.in_process,
                expiry_check=None if gangs is None else gangs.watch.expiry_check,
            )

        return ReconcilerFeed(begin)

    def _pool_levels(self, configured: ActiveConfiguration) -> Iterator[PoolLevels]:
        """Yield the metrics of floating pools; nothing without such pools, a ledger, or detailed metrics."""
        counting, table, metrics = configured.policy.counting, self._tables.ledger, self._invocation.metrics
        if table is not None and metrics.detailed and counting.floating.exist:
            yield PoolLevels(counting, table, metrics, self._clock.wall)

    def _report(self, event: ReservationEvent) -> None:
        log.log(logging.WARNING if event.type in WARNING_EVENTS else logging.DEBUG, "reservations: %s", event)
        self._metrics.happened(event)

    def _gang_work(
        self, configured: ActiveConfiguration, on_closed: Callable[[], None], pod_events: Recorder
    ) -> GangWork | None:
        table = self._tables.gangs
        if table is None:
            return None
        return GangWork(
            table(),
            self._connection.reserved_pods,
            configured.policy,
            self._clock,
            self._invocation.observer.gang,
            pod_events.record,
            on_closed,
            once=self._mode is WatcherMode.PERIODIC,
        )

    def _holder(self) -> list[BackgroundSteps]:
        """Return the step that holds the ledger's Lease; empty if other stores cannot know of the cluster."""
        lease, table, identity = self._connection.ledger_lease, self._tables.ledger, self._tables.identity
        if lease is None or table is None or identity is None:
            return []

        def publish(refusal: str) -> None:
            self._tables.cache.put_counting_refusal(refusal)
            if refusal:
                self._report(ReservationEvent(ReservationEventType.COUNTED_ELSEWHERE, detail=refusal))

        holder = LedgerHolder(
            lease,
            table,
            identity(),
            publish,
            self._clock,
            random.random,
            lambda: uuid4().hex,
            name=self._settings.ledger_table,
        )
        return [BackgroundSteps(holder.step, "ledger-holder", "the Lease of the ledger was not renewed")]

    @property
    def has_stale_epoch(self) -> bool:
        """Return whether the ledger's epoch is later than this run's; the next leadership then takes a higher epoch."""
        return self._reconciler_feed is not None and self._reconciler_feed.is_deposed

    def _epoch_floor(self) -> int:
        """Return an epoch above all epochs in the ledger, which keeps them while a recreated head begins at 0."""
        table = self._tables.ledger
        try:
            marker = None if table is None else table.marker()
        except TableUnavailable as error:
            # The cache must not wait for the ledger. If the epoch is too low, the reconciler detects it and resigns.
            log.warning(f"the ledger's epoch is not known: {error}")
            return 0
        return 0 if marker is None else marker.epoch + 1

    def _warn_if_counting_is_lost(self) -> None:
        if self._adapters.loss is None:
            return
        try:
            self._adapters.loss.raise_if_lost()
        except (CountingLost, TableUnavailable) as error:
            log.warning(str(error))

    def _horizon(self) -> float:
        is_standby = self._settings.standby and self._standby.acquire(self._limit.sleep, self._limit.is_over)
        return math.inf if is_standby else HORIZON_SECONDS

    def _started_leading(self, record: BecameLeader) -> None:
        log.info(str(record))
        self._standby.release()
        restore_configuration(self._adapters)


def restore_configuration(adapters: CacheAdapters) -> None:
    """Restore an applied configuration that one of the tables has lost. Failures are logged."""
    try:
        repaired = adapters.tables.configuration.restore()
    except TableUnavailable as error:
        log.warning(f"cannot tell whether a configuration was applied: {error}")
        return
    if repaired:
        log.warning(f"the applied configuration was restored: {repaired}")


def _lambda_client() -> LambdaClient:
    return aws_client("lambda", CALLS)
