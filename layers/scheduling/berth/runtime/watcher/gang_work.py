"""The leader's work for gangs: it ends rounds that the calls did not finish, and reports why gangs wait."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from berth.dynamodb import TableUnavailable
from berth.lease.clock import SystemClock
from berth.ledger.gangs.table import GangTable, shown
from berth.nodecache.feed.leader import Publication
from berth.pods import ReservedPods
from berth.runtime.adapters import log
from berth.runtime.watcher.background import PAUSE_SECONDS, BackgroundSteps
from berth.scheduling.gangs.gang import OpenGang
from berth.scheduling.policy import Policy
from berth.upkeep.gangs import GangEvent, GangEventType, GangWatch, PublishedMembers
from berth.upkeep.pod_events import PodEvent, gang_events
from berth.upkeep.waiting_gangs import LOOK_SECONDS, WaitingGangs

_WARNINGS = frozenset({GangEventType.DEGRADED, GangEventType.TIMED_OUT})


class GangWork:
    """Does a leadership's work for gangs. The expiry of reservations uses `watch` even if gangs are not enabled now."""

    def __init__(
        self,
        table: GangTable,
        pods: ReservedPods,
        policy: Policy,
        clock: SystemClock,
        observe: Callable[[GangEvent], None],
        record: Callable[[PodEvent], None],
        on_closed: Callable[[], None],
        *,
        once: bool = False,
    ) -> None:
        """Prepare the work. observe: called with each event of a gang. record: queues an event on a pod. on_closed:
        called when another gang may be placed. once: see BackgroundSteps."""
        self._once = once
        self._table = table
        self._clock = clock
        self._observe = observe
        self._record = record
        self._members = PublishedMembers(policy.was_exempt)
        self.watch = GangWatch(table, pods, self._members.on_nodes, clock.wall, self._report, on_closed)
        self._waiting = WaitingGangs(policy, self._open_gangs, clock.monotonic)

    def steps(self) -> list[BackgroundSteps]:
        """Return steps, each with its own thread: planning all gangs must not delay the end of a round."""
        return [
            BackgroundSteps(self._watch_step, "gangs", "the gangs were not checked", once=self._once),
            BackgroundSteps(self._say_why, "gang-events", "no events explain why gangs wait", once=self._once),
        ]

    def published(self, publication: Publication) -> None:
        self._members.published(publication)
        self._waiting.published(publication)

    def _watch_step(self) -> float:
        try:
            return self.watch.work()
        except TableUnavailable as error:
            log.warning("gangs: %s", error)
            return PAUSE_SECONDS

    def _say_why(self) -> float:
        try:
            for event in self._waiting.events():
                self._record(event)
        except TableUnavailable as error:
            log.warning("gangs: %s", error)
        return LOOK_SECONDS

    def _open_gangs(self) -> Sequence[OpenGang]:
        now = self._clock.wall()
        return [each for item in self._table.gangs() if (each := shown(item, now)) is not None]

    def _report(self, event: GangEvent) -> None:
        log.log(logging.WARNING if event.type in _WARNINGS else logging.INFO, "gangs: %s", event)
        self._observe(event)
        for on_pod in gang_events(event):
            self._record(on_pod)
