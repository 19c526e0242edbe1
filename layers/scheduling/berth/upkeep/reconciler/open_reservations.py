"""What a reconciler remembers of open reservations: when it first saw each, and when it found its pod on the node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from berth.ledger.nodes.entry import Entry, OpenReservation

ReservationKey = tuple[str, str, str]
"""The pod's UID, the node, the attempt."""


class OpenReservations:
    """For one thread. It also keeps reserved entries that have no open reservation in the table."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._first_seen: dict[ReservationKey, float] = {}
        """Monotonic seconds."""
        self._found_on_node: dict[ReservationKey, float] = {}
        """When the API server showed the pod on the node, before it was published there; seconds since the epoch."""
        self._entries_only: dict[ReservationKey, OpenReservation] = {}
        """Reserved entries without an open reservation in the table."""

    def refresh(self, found: Iterable[OpenReservation], read_at: float) -> Mapping[ReservationKey, OpenReservation]:
        """found: all in the table, read at `read_at` (monotonic). Returns them, and the entries without one."""
        open_now = {key_of(each): each for each in found}
        for key in open_now.keys() & self._entries_only.keys():
            del self._entries_only[key]
        known = open_now | self._entries_only
        self._first_seen = {key: self._first_seen.get(key, read_at) for key in known}
        self._found_on_node = {key: at for key, at in self._found_on_node.items() if key in known}
        return known

    def add_entry(self, node: str, entry: Entry) -> None:
        """A reserved entry of this node; it may have no open reservation."""
        reservation = OpenReservation(entry.pod, node, entry.attempt, entry.shares, entry.since)
        self._entries_only[key_of(reservation)] = reservation
        self._first_seen.setdefault(key_of(reservation), self._monotonic())

    def mark_on_node(self, reservation: OpenReservation) -> None:
        """The API server shows the pod on the node."""
        self._found_on_node.setdefault(key_of(reservation), self._wall())

    def remove(self, reservation: OpenReservation) -> None:
        """The reservation was confirmed or released."""
        self._entries_only.pop(key_of(reservation), None)

    def age(self, reservation: OpenReservation) -> float:
        """Seconds, by its own time or by ours: a reservation from a clock ahead of ours would never be old."""
        age = self._wall() - reservation.since
        return max(age, self._monotonic() - self._first_seen[key_of(reservation)])

    def was_on_node_before(self, reservation: OpenReservation, observed_at: float) -> bool:
        """Whether the API server showed the pod on the node before `observed_at`, in seconds since the epoch."""
        return self._found_on_node.get(key_of(reservation), math.inf) < observed_at


def key_of(reservation: OpenReservation) -> ReservationKey:
    """Identifies the reservation."""
    return reservation.pod.uid, reservation.node, reservation.attempt
