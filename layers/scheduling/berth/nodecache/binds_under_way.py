"""The pods that are being bound, and that the cache does not show yet: open reservations and announcements.

Both are read before the head. So a pod that is missing in what was read is in the snapshot that the head points to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from berth.announcements.announcement import Announcement
from berth.announcements.reader import AnnouncementReader
from berth.dynamodb_errors import TableUnavailable
from berth.extender.ports import EMPTY_LOG, LogRange, PodCoverage
from berth.reservations.ledger.entry import OpenReservation
from berth.reservations.ledger.table import LedgerTable
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.assumed_pods import AssumedPod
from berth.scheduling.snapshot.placed_pods import PlacedPods
from berth.scheduling.snapshot.snapshot import Snapshot

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a policy needs to know of binds under way."""

    reservations: bool = False
    announcements: bool = False


@dataclass(frozen=True, slots=True)
class OpenBinds:
    """One read of both. None where they were not read."""

    reservations: Sequence[OpenReservation] | None = None
    announcements: Sequence[Announcement] | None = None

    def has(self, needs: Needs) -> bool:
        """Whether everything that is needed was read."""
        return (self.reservations is not None or not needs.reservations) and (
            self.announcements is not None or not needs.announcements
        )


NOTHING_READ = OpenBinds()


class BindsUnderWay:
    """For one verb of a warm environment. Safe to share between threads."""

    def __init__(
        self, ledger: LedgerTable | None, announcements: AnnouncementReader | None, placed: PlacedPods | None = None
    ) -> None:
        """None: there is no such table. placed: shared by the verbs of a process, as their verdicts are."""
        self._ledger = ledger
        self._announcements = announcements
        self._placed = PlacedPods() if placed is None else placed
        self._last: tuple[Snapshot, Sequence[OpenReservation], Sequence[Pod], Snapshot] | None = None

    def needs(self, policy: Policy) -> Needs:
        """What decisions of this policy depend on."""
        return Needs(
            self._ledger is not None and policy.counting.counts,
            self._announcements is not None and policy.reads_other_pods,
        )

    def read(
        self,
        needs: Needs,
        last: OpenBinds,
        require_time: Callable[[], None],
        survive: Callable[[TableUnavailable], None],
    ) -> OpenBinds:
        """A consistent query for each that is needed.

        last: used where a query fails. require_time: raises TableUnavailable where none may begin any more. survive:
        called with each failure; it may raise it.
        """

        def queried(query: Callable[[], Iterable[T]], before: Sequence[T] | None) -> Sequence[T]:
            try:
                require_time()
                return tuple(query())
            except TableUnavailable as error:
                survive(error)
                return before or ()

        reservations: Sequence[OpenReservation] | None = None
        announcements: Sequence[Announcement] | None = None
        if needs.reservations and self._ledger is not None:
            reservations = queried(self._ledger.open_reservations, last.reservations)
        if needs.announcements and self._announcements is not None:
            announcements = queried(self._announcements.read, last.announcements)
        return OpenBinds(reservations, announcements)

    def assume(self, snapshot: Snapshot, read: OpenBinds, coverage: PodCoverage) -> Snapshot:
        """The snapshot with the pods that are being bound. coverage: how far it follows the pods."""
        announced: Sequence[Pod] = ()
        if self._announcements is not None and read.announcements is not None:
            announced = self._announcements.pods_to_add(read.announcements, snapshot, coverage)
        reservations = read.reservations or ()
        last = self._last
        if last is not None and last[0] is snapshot and last[1] == reservations and last[2] == announced:
            return last[3]
        found = snapshot.assuming(_assumed(reservations, announced))
        if read.announcements is not None:
            found = self._placed.follow(found)
        self._last = snapshot, reservations, announced, found
        return found

    def log(self, read: OpenBinds) -> LogRange:
        """Where the announcements that were read begin and end."""
        if self._announcements is None or not read.announcements:
            return EMPTY_LOG
        return LogRange(self._announcements.first, read.announcements[-1].position)


def _assumed(reservations: Sequence[OpenReservation], announced: Sequence[Pod]) -> Iterator[AssumedPod]:
    # If two attempts bind a pod to a node, the later reservation counts.
    latest = {(each.pod.uid, each.node): each for each in sorted(reservations, key=lambda each: each.since)}
    for pod in announced:
        reserved = latest.pop((pod.uid, pod.node_name), None)
        shares = {} if reserved is None else reserved.shares
        yield AssumedPod(pod.namespace, pod.name, pod.uid, pod.node_name, shares, pod)
    for each in latest.values():
        yield AssumedPod(each.pod.namespace, each.pod.name, each.pod.uid, each.node, each.shares)
