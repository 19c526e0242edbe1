"""The pods that are being bound and are not in the cache yet.

Three kinds are read in this order, before the head: binds that have begun, open reservations, announcements. So each
pod is either among them, or in the snapshot that the head points to.

Binds that have begun: kube-scheduler decides on the next pod while it waits for bind. Bind first reads the pod at the
API server, and then announces or reserves; until then the next decision would miss the pod. So if one process serves
all verbs, the pod counts on its node as soon as bind's request arrives. Its spec is from the filter request. In Lambda,
prioritize learns from the log of announcements which of the pods that it has scored are being bound.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from berth.dynamodb import TableUnavailable
from berth.extender.ports import EMPTY_LOG, LogRange, PodCoverage
from berth.ledger.announcements import Announcement, AnnouncementReader, BegunBind
from berth.ledger.nodes.entry import OpenReservation
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import AssumedPod
from berth.scheduling.snapshot.snapshot import PlacedPods, Snapshot

if TYPE_CHECKING:
    from berth.ledger.nodes.table import LedgerTable
    from berth.pods import Binding

MAX_PODS = 256
"""The maximum number of kept pods: other schedulers may filter pods between a pod's filter and its bind."""


class BegunBinds:
    """Holds the binds that have begun in this process and have not ended. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: OrderedDict[str, Pod] = OrderedDict()
        self._begun: dict[tuple[str, str], Pod] = {}

    def asked_about(self, pod: Pod) -> None:
        with self._lock:
            self._asked[pod.uid] = pod
            self._asked.move_to_end(pod.uid)
            if len(self._asked) > MAX_PODS:
                self._asked.popitem(last=False)

    @contextmanager
    def begun(self, binding: Binding) -> Iterator[None]:
        """Count the pod on its node until the block ends, unless it is unknown or in a gang (members wait in bind)."""
        key = binding.pod_uid, binding.node
        with self._lock:
            pod = self._asked.get(binding.pod_uid)
            if pod is not None and not gang_names(pod):
                self._begun[key] = _on_node(pod, binding.node)
        try:
            yield
        finally:
            with self._lock:
                self._begun.pop(key, None)

    def pods(self) -> tuple[Pod, ...]:
        """Return the pods on their nodes. Read the tables later: they then contain each pod whose bind has ended."""
        with self._lock:
            return tuple(self._begun.values())

    def pods_of(self, binds: Iterable[BegunBind]) -> tuple[Pod, ...]:
        """Return the pods of these binds of other processes, on their nodes, if they are known and not in a gang."""
        with self._lock:
            found = [(self._asked[each.pod_uid], each.node) for each in binds if each.pod_uid in self._asked]
        return tuple(_on_node(pod, node) for pod, node in found if not gang_names(pod))


def _on_node(pod: Pod, node: str) -> Pod:
    return replace(pod, node_name=node, nominated_node="")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Needs:
    """The kinds of binds under way that a policy needs. follows: whether a plugin counts the pods over all nodes, and
    so needs the changes since the last read."""

    reservations: bool = False
    announcements: bool = False
    follows: bool = False


@dataclass(frozen=True, slots=True)
class OpenBinds:
    """The binds under way as of one read. None: the kind was not read. begun: the pods of binds that have begun, on
    their nodes. follows: see Needs."""

    reservations: Sequence[OpenReservation] | None = None
    announcements: Sequence[Announcement] | None = None
    begun: Sequence[Pod] = ()
    follows: bool = False

    def has(self, needs: Needs) -> bool:
        return (self.reservations is not None or not needs.reservations) and (
            self.announcements is not None or not needs.announcements
        )


NOTHING_READ = OpenBinds()


class BindsUnderWay:
    """Reads the binds under way for one verb of a warm environment. Thread-safe."""

    def __init__(
        self,
        ledger: LedgerTable | None,
        announcements: AnnouncementReader | None,
        placed: PlacedPods | None = None,
        begun: BegunBinds | None = None,
    ) -> None:
        """Create the reader. ledger, announcements: None if the table does not exist. placed: shared by all verbs of a
        process. begun: None for bind itself; if binds run in other processes, None for all verbs except prioritize."""
        self._ledger = ledger
        self._announcements = announcements
        self._placed = PlacedPods() if placed is None else placed
        self._begun = begun
        self._last: tuple[Snapshot, object, Snapshot] | None = None

    def asked_about(self, pod: Pod) -> None:
        """Keep a pod that a scheduler has sent, because it may bind the pod next."""
        if self._begun is not None:
            self._begun.asked_about(pod)

    def needs(self, policy: Policy) -> Needs:
        return Needs(
            self._ledger is not None and policy.counting.counts,
            self._announcements is not None and policy.reads_other_pods,
            self._ledger is not None and policy.counting.floating.exist,
        )

    def read(
        self,
        needs: Needs,
        last: OpenBinds,
        require_time: Callable[[], None],
        survive: Callable[[TableUnavailable], None],
    ) -> OpenBinds:
        """Read each needed kind with a consistent query. last: used for a kind whose query fails. require_time: raises
        TableUnavailable if the time is over. survive: called with each failure; may raise it."""

        def queried(query: Callable[[], T], before: T) -> T:
            try:
                require_time()
                return query()
            except TableUnavailable as error:
                survive(error)
                return before

        begun = () if self._begun is None or needs == Needs() else self._begun.pods()
        reservations: Sequence[OpenReservation] | None = None
        announcements: Sequence[Announcement] | None = None
        if needs.reservations and self._ledger is not None:
            reservations = queried(self._ledger.open_reservations, last.reservations or ())
        if needs.announcements and self._announcements is not None:
            failed: tuple[Sequence[Announcement], Sequence[BegunBind]] = last.announcements or (), ()
            announcements, noted = queried(self._announcements.read, failed)
            if self._begun is not None and noted:
                begun += self._begun.pods_of(noted)
        return OpenBinds(reservations, announcements, begun, needs.follows or announcements is not None)

    def assume(self, snapshot: Snapshot, read: OpenBinds, coverage: PodCoverage) -> Snapshot:
        """Return the snapshot with the pods that are being bound. coverage: the changes that the snapshot contains."""
        announced: Sequence[Pod] = ()
        if self._announcements is not None and read.announcements is not None:
            announced = self._announcements.pods_to_add(read.announcements, snapshot, coverage)
        binds = read.reservations or (), read.begun, announced
        last = self._last
        if last is not None and last[0] is snapshot and last[1] == binds:
            return last[2]
        found = snapshot.assuming(_assumed(*binds))
        if read.follows:
            found = self._placed.follow(found)
        self._last = snapshot, binds, found
        return found

    def log(self, read: OpenBinds) -> LogRange:
        if self._announcements is None or not read.announcements:
            return EMPTY_LOG
        return LogRange(self._announcements.first, read.announcements[-1].position)


def _assumed(
    reservations: Sequence[OpenReservation], begun: Sequence[Pod], announced: Sequence[Pod]
) -> Iterator[AssumedPod]:
    # If two attempts bind a pod to a node, the later reservation counts.
    latest = {(each.pod.uid, each.node): each for each in sorted(reservations, key=lambda each: each.since)}
    shares: dict[tuple[str, str], Mapping[str, int] | None] = {(pod.uid, pod.node_name): None for pod in begun}
    shares |= {key: each.shares for key, each in latest.items()}
    for pod in (*begun, *announced):
        key = pod.uid, pod.node_name
        latest.pop(key, None)
        yield AssumedPod(pod.namespace, pod.name, pod.uid, pod.node_name, shares.get(key, {}), pod)
    for each in latest.values():
        yield AssumedPod(each.pod.namespace, each.pod.name, each.pod.uid, each.node, each.shares)
