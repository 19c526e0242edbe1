"""What a reconciler knows of the open reservations: since when each is there, when its pod was found on the node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from berth.reservations.ledger.entry import Entry, OpenReservation

Id = tuple[str, str, str]
"""Of a reservation: the pod's UID, the node, the attempt."""


class OpenReservations:
    """For one thread. It also knows the entries that were met without an open reservation."""

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._first_seen: dict[Id, float] = {}
        self._on_node: dict[Id, float] = {}
        """By what moment a pod was found on the node that was not published there."""
        self._untraced: dict[Id, OpenReservation] = {}
        """Entries that were met without an open reservation."""

    def note(self, found: Iterable[OpenReservation], asked_at: float) -> Mapping[Id, OpenReservation]:
        """All there are in the table, asked for at that (monotonic) moment. Returns them and the untraced ones."""
        open_now = {id_of(each): each for each in found}
        for each in open_now.keys() & self._untraced.keys():
            del self._untraced[each]
        known = open_now | self._untraced
        self._first_seen = {each: self._first_seen.get(each, asked_at) for each in known}
        self._on_node = {each: at for each, at in self._on_node.items() if each in known}
        return known

    def note_entry(self, node: str, entry: Entry) -> None:
        """A reserved entry that a visit of the node has met; it may have no open reservation."""
        reservation = OpenReservation(entry.pod, node, entry.attempt, entry.shares, entry.since)
        self._untraced[id_of(reservation)] = reservation
        self._first_seen.setdefault(id_of(reservation), self._monotonic())

    def note_on_node(self, reservation: OpenReservation) -> None:
        """Its pod was found on the node just now."""
        self._on_node.setdefault(id_of(reservation), self._wall())

    def forget(self, reservation: OpenReservation) -> None:
        """It is over."""
        self._untraced.pop(id_of(reservation), None)

    def age(self, reservation: OpenReservation) -> float:
        """Seconds, by its own time or by ours: one that was made by a clock ahead of ours would never be old."""
        age = self._wall() - reservation.since
        return max(age, self._monotonic() - self._first_seen[id_of(reservation)])

    def was_on_node_before(self, reservation: OpenReservation, observed_at: float) -> bool:
        """Whether its pod had been found on the node before what is published was observed."""
        return self._on_node.get(id_of(reservation), math.inf) < observed_at


def id_of(reservation: OpenReservation) -> Id:
    """What tells it from all others."""
    return reservation.pod.uid, reservation.node, reservation.attempt
