"""The ledger's table in memory. Every write is atomic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from berth.ledger.announcements import Announcement, AnnouncementLog, BegunBind, place_of
from berth.ledger.nodes.entry import NodeLedger, OpenReservation
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import LedgerTable, Marker, NotWritten, Written


class InMemoryLedgerTable(LedgerTable):
    """A ledger table in memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._nodes: dict[str, NodeLedger] = {}
        self._open: dict[tuple[str, str, str], OpenReservation] = {}
        self._marker: Marker | None = None

    def node(self, name: str) -> NodeLedger | None:
        with self._lock:
            return self._nodes.get(name)

    def nodes(self) -> Sequence[NodeLedger]:
        with self._lock:
            return [self._nodes[name] for name in sorted(self._nodes)]

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        with self._lock:
            found = self._nodes.get(node)
            if found is None or not change.is_met_by(found):
                return NotWritten(found)
            return self._put(change.applied_to(found))

    def write_together(
        self, changes: Mapping[str, NodeWrite], opened: OpenReservation | None = None
    ) -> tuple[str, ...] | None:
        with self._lock:
            found = {owner: self._nodes.get(owner) for owner in changes}
            failed = [name for name, ledger in found.items() if ledger is None or not changes[name].is_met_by(ledger)]
            if failed:
                return tuple(failed)
            for owner, ledger in found.items():
                assert ledger is not None
                self._put(changes[owner].applied_to(ledger))
            if opened is not None:
                self._open[_key(opened)] = opened
            return None

    def create(self, ledger: NodeLedger) -> Written | NotWritten:
        with self._lock:
            found = self._nodes.get(ledger.owner)
            return self._put(ledger) if found is None else NotWritten(found)

    def begin_rebuild(self, node: str, epoch: int) -> Written | NotWritten:
        with self._lock:
            found = self._nodes.get(node)
            if found is None or found.epoch > epoch:
                return NotWritten(found)
            return self._put(replace(found, avail=None, epoch=epoch))

    def finish_rebuild(self, ledger: NodeLedger) -> Written | NotWritten:
        with self._lock:
            found = self._nodes.get(ledger.owner)
            if found is None or (found.avail is None and found.epoch <= ledger.epoch):
                return self._put(ledger)
            return NotWritten(found)

    def delete_if_empty(self, node: str, epoch: int) -> Written | NotWritten:
        with self._lock:
            found = self._nodes.get(node)
            if found is None or found.entries or found.epoch > epoch:
                return NotWritten(found)
            return Written(self._nodes.pop(node))

    def put_open(self, reservation: OpenReservation) -> None:
        with self._lock:
            self._open[_key(reservation)] = reservation

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        with self._lock:
            self._open.pop((uid, node, attempt), None)

    def open_reservations(self) -> Sequence[OpenReservation]:
        with self._lock:
            return [self._open[key] for key in sorted(self._open)]

    def marker(self) -> Marker | None:
        with self._lock:
            return self._marker

    def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
        with self._lock:
            found = None if self._marker is None else self._marker.nonce
            if found not in (None if seen is None else seen.nonce, marker.nonce):
                return False
            self._marker = marker
            return True

    def _put(self, ledger: NodeLedger) -> Written:
        self._nodes[ledger.owner] = ledger
        return Written(ledger)


def _key(reservation: OpenReservation) -> tuple[str, str, str]:
    return reservation.pod.uid, reservation.node, reservation.attempt


class InMemoryAnnouncementLog(AnnouncementLog):
    """An announcement log in memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_position: dict[int, Announcement] = {}
        self._begun: dict[int, BegunBind] = {}

    def read(self, first: int) -> Sequence[Announcement]:
        return self.read_with_begun(first)[0]

    def read_with_begun(self, first: int) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        with self._lock:
            found = [self._by_position[position] for position in sorted(self._by_position) if position >= first]
            return found, [*self._begun.values()]

    def begin(self, bind: BegunBind) -> None:
        with self._lock:
            self._begun[place_of(bind)] = bind

    def append(self, announcement: Announcement) -> bool:
        with self._lock:
            return self._by_position.setdefault(announcement.position, announcement).attempt == announcement.attempt

    def withdraw(self, position: int, attempt: str) -> None:
        with self._lock:
            found = self._by_position.get(position)
            if found is not None and found.attempt == attempt:
                self._by_position[position] = replace(found, withdrawn=True)

    def trim(self, position: int, until: float) -> None:
        with self._lock:
            for each in [*self._by_position.values()]:
                if each.position < position and each.until < until:
                    del self._by_position[each.position]
