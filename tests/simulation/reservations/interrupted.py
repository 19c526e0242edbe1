"""The ledger's table and the API server, for one client of a simulation: something may happen around every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from berth.ledger.nodes.entry import NodeLedger, OpenReservation
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import LedgerTable, Marker, NotWritten, Written
from berth.pods import FoundPod, PodChanged, PodNotFound, PodTouched, ReservedPods, Unanswered
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey

T = TypeVar("T")
Between = Callable[[], None]


class Interrupted:
    """Something may happen before and after every call: `between`."""

    def __init__(self, between: Between) -> None:
        self._between = between

    def call(self, call: Callable[[], T]) -> T:
        self._between()
        done = call()
        self._between()
        return done


class InterruptedTable(Interrupted, LedgerTable):
    """A table, for one client."""

    def __init__(self, table: LedgerTable, between: Between) -> None:
        super().__init__(between)
        self._table = table

    def node(self, name: str) -> NodeLedger | None:
        return self.call(lambda: self._table.node(name))

    def nodes(self) -> list[NodeLedger]:
        return self.call(lambda: list(self._table.nodes()))

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        return self.call(lambda: self._table.write(node, change))

    def write_together(
        self, changes: Mapping[str, NodeWrite], opened: OpenReservation | None = None
    ) -> tuple[str, ...] | None:
        return self.call(lambda: self._table.write_together(changes, opened))

    def create(self, ledger: NodeLedger) -> Written | NotWritten:
        return self.call(lambda: self._table.create(ledger))

    def begin_rebuild(self, node: str, epoch: int) -> Written | NotWritten:
        return self.call(lambda: self._table.begin_rebuild(node, epoch))

    def finish_rebuild(self, ledger: NodeLedger) -> Written | NotWritten:
        return self.call(lambda: self._table.finish_rebuild(ledger))

    def delete_if_empty(self, node: str, epoch: int) -> Written | NotWritten:
        return self.call(lambda: self._table.delete_if_empty(node, epoch))

    def put_open(self, reservation: OpenReservation) -> None:
        self.call(lambda: self._table.put_open(reservation))

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        self.call(lambda: self._table.delete_open(uid, node, attempt))

    def open_reservations(self) -> list[OpenReservation]:
        return self.call(lambda: list(self._table.open_reservations()))

    def marker(self) -> Marker | None:
        return self.call(self._table.marker)

    def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
        return self.call(lambda: self._table.put_marker(marker, seen))


class InterruptedPods(Interrupted, ReservedPods):
    """The API server, for a watcher."""

    def __init__(self, pods: ReservedPods, between: Between) -> None:
        super().__init__(between)
        self._pods = pods

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        return self.call(lambda: self._pods.find(pod))

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        return self.call(lambda: self._pods.list_pods(is_wanted))

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        return self.call(lambda: self._pods.touch(pod, resource_version))
