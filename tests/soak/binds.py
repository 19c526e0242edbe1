"""Workers that bind, die and lose answers, a watcher that confirms and expires, and what must hold of it all.

The owners of bound pods change and remove the annotation that requests seats and that of the pod's device, and make
pods too large for the cache: a new leader does not find them there. Some creators set `spec.nodeName`, and request as
much as they like.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from threading import Condition, Event, Lock
from uuid import uuid4

from berth.bind.answer import bind
from berth.bind.rules import BindRules, CountedResources
from berth.bind.share import Reservations
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.ledger.nodes.entry import EntryState, OpenReservation
from berth.ledger.nodes.ledger import new_ledger
from berth.pods import Binding, PodBinder
from berth.scheduling.managed_resources.counting import left
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.upkeep.reconciler.expiry import Expiry, ExpiryOutcome
from berth.upkeep.reconciler.node_reconciliation import NodeReconciliation
from berth.upkeep.reconciler.published_pods import PublishedPods
from tests.fakes.clock import HandDrivenClock
from tests.fakes.pods import StoredPod
from tests.simulation.reservations.binds import LICENCE, Died, Wire, WiredBinder
from tests.soak.checked import CheckedLedgerTable, CheckedPods, FaultyTable, assert_gives_no_more
from tests.soak.resources import (
    ASKED,
    CAPACITY,
    COUNTING,
    DEVICE,
    FOREIGN,
    FOREIGN_SHARE,
    FORGED,
    FORGED_SEATS,
    SEAT,
    SEATS,
    shares_of,
)

EPOCH = 3
AGE_SECONDS = 1.0
"""The age at which reservations expire. Any age is safe; after 30 s too few amounts would be available."""

EDIT_SECONDS = 0.005
"""Between two edits by owners."""

MOST_UNSEEN = 64
"""Pods that have changed since the watcher looked."""

HANDOVER_SECONDS = 0.7
"""Between two leaders, at most."""

LEADERS = 16
"""At least so many take over in a run, however fast its binds are."""

MOST_NODES = 16
BINDS_OF_NODE = 50
"""A short run has fewer nodes, so that each gets so many binds: what is given twice is seen only on a full node."""


@dataclass
class Tally:
    """What became of the binds. writes: how many updates of the node's item each of those took that died nowhere."""

    outcomes: Counter[str] = field(default_factory=Counter)
    writes: Counter[int] = field(default_factory=Counter)
    succeeded: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    edits: int = 0
    foreign: int = 0
    leaders: int = 0
    lock: Lock = field(default_factory=Lock)


class Soak:
    """One run."""

    def __init__(
        self,
        table: CheckedLedgerTable,
        *,
        binds: int,
        workers: int = 16,
        nodes: int | None = None,
        seed: int = 0,
        faults: float = 0.005,
        most_unseen: int = MOST_UNSEEN,
    ) -> None:
        self.table = table
        self.tally = Tally()
        self._binds = binds
        self._workers = workers
        self._nodes = [f"n{number}" for number in range(nodes or nodes_for(binds))]
        self._seed = seed
        self._faults = faults
        self._most_unseen = most_unseen
        self.pods = CheckedPods(CAPACITY, lambda binding: shares_of(self._requests[binding.pod_uid], binding))
        self._done = Event()
        self._requests: dict[str, Mapping[str, str]] = {}
        self._perhaps_uncounted: set[str] = set()
        """UIDs of pods that creators bound, and whose request was edited, perhaps before the watcher saw it: one that
        cannot be read counts as nothing."""
        self._changed: set[str] = set()
        self._too_large: set[str] = set()
        """Names of pods that a new leader does not find in the cache."""
        self._caught_up = Event()
        self._caught_up.set()
        self._begun, self._watch_ended, self._next_leader = 0, False, Condition()
        annotations = {"example.com/gpus": "8000,8000"}
        allocatable = {LICENCE: 4, SEAT: 4}
        self._known = {
            name: NodeInfo(name, {}, allocatable=allocatable, annotations=annotations) for name in self._nodes
        }
        self._epoch = EPOCH
        self._lead({})
        for node in self._nodes:
            table.create(new_ledger(node, CAPACITY, {}, EPOCH))

    def _lead(self, pods: Mapping[str, Pod | None]) -> None:
        """A leader begins, with these pods as published."""
        self._published = PublishedPods(COUNTING)
        self._published.update(self._known, pods)
        self._reconcile = NodeReconciliation(
            self.table, self.pods, self._published, self._epoch, time.time, lambda event: None, lambda: True
        ).reconcile
        self.tally.leaders += 1

    def run(self) -> None:
        """Raises AssertionError if a rule does not hold, in any thread."""
        with ThreadPoolExecutor(self._workers + 3) as threads:
            watcher = threads.submit(self._watch)
            reader = threads.submit(self._read)
            owners = threads.submit(self._own)
            try:
                each, rest = divmod(self._binds, self._workers)
                workers = [
                    threads.submit(self._work, number, each + (number < rest)) for number in range(self._workers)
                ]
                for worker in workers:
                    worker.result()
            finally:
                self._done.set()
                self._caught_up.set()
            watcher.result()
            reader.result()
            owners.result()
        self._assert_nothing_is_lost()

    def _work(self, number: int, binds: int) -> None:
        random = Random(self._seed * 1000 + number)
        mine: list[tuple[str, str]] = []
        for count in range(binds):
            if self._done.is_set():
                # Interrupted: who waits for this thread has an emulator to end.
                return
            name = uid = f"pod-{number}-{count}"
            # The watcher is one thread among many here: where it lags far behind, all nodes are full.
            self._caught_up.wait(10)
            self._begin()
            if random.random() < FOREIGN_SHARE:
                self._create(name, uid, random.choice(FOREIGN), random.choice(self._nodes))
                with self.tally.lock:
                    self.tally.foreign += 1
                self._tell(name)
                mine.append((name, uid))
                continue
            self._create(name, uid, random.choice(ASKED))
            if self._bind(name, uid, random):
                mine.append((name, uid))
            # As many as fill the nodes: most binds find little left, and some find nothing.
            while len(mine) > 3 or (mine and random.random() < 0.2):
                self._end(*mine.pop(random.randrange(len(mine))))

    def _begin(self) -> None:
        """Another bind begins; it waits where the leaders are behind, so that there are LEADERS of them."""
        share = max(1, self._binds // LEADERS)
        with self._next_leader:
            self._begun += 1
            self._next_leader.wait_for(lambda: self._watch_ended or self._begun <= (self.tally.leaders + 1) * share, 10)

    def _create(self, name: str, uid: str, asked: Mapping[str, str], node: str = "") -> None:
        self._requests[uid] = asked
        requests = {resource: amount for resource, amount in asked.items() if resource != SEAT}
        annotations = {SEATS: asked[SEAT]} if SEAT in asked else {}
        self.pods.add(name, uid, requests, annotations=annotations, node=node)

    def _own(self) -> None:
        """The owners, one after another."""
        random = Random(self._seed)
        while not self._done.wait(EDIT_SECONDS):
            placed = [(name, pod) for (_, name), pod in self.pods.all().items() if pod.node]
            if placed:
                self._edit(*random.choice(placed), random)

    def _edit(self, name: str, pod: StoredPod, random: Random) -> None:
        """The pod's owner changes an annotation, or the size of the pod."""
        match random.randrange(3):
            case 0:
                self._annotate(name, pod, DEVICE, random.choice(FORGED))
            case 1:
                if not self.pods.held(pod.uid):
                    self._perhaps_uncounted.add(pod.uid)
                self._annotate(name, pod, SEATS, random.choice(FORGED_SEATS))
            case _:
                # As one set operation each: the watcher's thread reads it.
                (self._too_large.discard if name in self._too_large else self._too_large.add)(name)
        with self.tally.lock:
            self.tally.edits += 1
        self._tell(name)

    def _annotate(self, name: str, pod: StoredPod, annotation: str, value: str | None) -> None:
        kept = {key: each for key, each in pod.annotations.items() if key != annotation}
        self.pods.change(name, annotations=kept if value is None else {**kept, annotation: value})

    def _bind(self, name: str, uid: str, random: Random) -> bool:
        """As the scheduler would: on some node, and on another one where there is too little."""
        for node in random.sample(self._nodes, 2):
            outcome = self._ask(name, uid, node, random)
            with self.tally.lock:
                self.tally.outcomes[outcome] += 1
            if outcome in (BindOutcome.BOUND, BindOutcome.ALREADY_BOUND):
                with self.tally.lock:
                    self.tally.succeeded.add(uid)
                self._tell(name)
                return True
        # The result of a crashed bind is unknown.
        self._end(name, uid)
        return False

    def _ask(self, name: str, uid: str, node: str, random: Random) -> str:
        table = FaultyTable(self.table, random, self._faults)
        reservations = Reservations(table, lambda: uuid4().hex, time.time, call_seconds=0.0)
        deadline = Deadline(60.0, time.monotonic)
        try:
            binding, counted = Binding("ml", name, uid, node), CountedResources(COUNTING, reservations)
            result = bind(binding, self._binder(random), deadline, BindRules(counted))
        except Died:
            return "died"
        with self.tally.lock:
            self.tally.writes[len(table.writes)] += 1
        return result.outcome.value

    def _binder(self, random: Random) -> PodBinder:
        from tests.simulation.reservations.binds import Fault

        faults = {index: random.choice(list(Fault)) for index in range(8) if random.random() < self._faults}
        return WiredBinder(self.pods, Wire(faults), HandDrivenClock())

    def _end(self, name: str, uid: str) -> None:
        with self.tally.lock:
            self.tally.ended.add(uid)
        self.pods.end(name, uid)
        self._tell(name)

    def _tell(self, name: str) -> None:
        """The watcher will see that the pod is another."""
        with self.tally.lock:
            self._changed.add(name)
            if len(self._changed) > self._most_unseen:
                self._caught_up.clear()

    # ----------------------------------------------------------------------------------------------------- the watcher

    def _watch(self) -> None:
        try:
            self._follow()
        finally:
            # Errors are reported when all threads have ended.
            self._caught_up.set()
            with self._next_leader:
                self._watch_ended = True
                self._next_leader.notify_all()

    def _follow(self) -> None:
        expired_at, led_at, share = 0.0, time.monotonic(), max(1, self._binds // LEADERS)
        while not self._done.is_set():
            self.publish()
            if time.monotonic() - led_at > HANDOVER_SECONDS or self._begun > self.tally.leaders * share:
                self.hand_over()
                led_at = time.monotonic()
                with self._next_leader:
                    self._next_leader.notify_all()
            if time.monotonic() - expired_at > AGE_SECONDS / 2:
                self.expire(AGE_SECONDS)
                expired_at = time.monotonic()

    def publish(self) -> None:
        """What has changed in the cluster, and the ledger brought to it: by one thread, as there is one leader."""
        with self.tally.lock:
            names, self._changed = self._changed, set()
        self._caught_up.set()
        found = {name: self.pods.stored(name) for name in names}
        pods = {f"ml/{name}": None if pod is None else _read(pod.content("ml", name)) for name, pod in found.items()}
        for node in self._published.update({}, pods):
            self._reconcile(node)

    def hand_over(self) -> None:
        """Another leader begins, with what the cache has."""
        self._epoch += 1
        too_large = set(self._too_large)
        pods = {
            f"ml/{name}": _read(pod.content("ml", name))
            for (_, name), pod in self.pods.all().items()
            if name not in too_large
        }
        self._lead(pods)
        for node in self._nodes:
            self._reconcile(node)

    def expire(self, least_age: float) -> None:
        """Reservations that are old enough, and those without a trace."""
        expiry = Expiry(self.table, self.pods, self._epoch)
        for reservation in (*self.table.open_reservations(), *(self._untraced() if not least_age else ())):
            if time.time() - reservation.since < least_age:
                continue
            if expiry.expire(reservation).outcome is ExpiryOutcome.ON_NODE:
                # As Reconciler: the publication does not confirm a pod whose request its owner has removed.
                self._published.keep(reservation.pod, reservation.node)
                self._reconcile(reservation.node)

    def _untraced(self) -> list[OpenReservation]:
        """What the watcher meets as it sweeps: entries whose bind took longer than it may."""
        return [
            OpenReservation(entry.pod, ledger.node, entry.attempt, entry.shares, entry.since)
            for ledger in self.table.nodes()
            for entry in ledger.entries.values()
            if entry.state is EntryState.RESERVED
        ]

    def _read(self) -> None:
        """A reader that has nothing to do with anybody: what it reads adds up, too (see the table)."""
        while not self._done.wait(0.05):
            for node in self._nodes:
                self.table.node(node)

    # --------------------------------------------------------------------------------------------------- what must hold

    def _assert_nothing_is_lost(self) -> None:
        for _ in range(2):
            self.publish()
            self.expire(0.0)
            self._changed |= {name for _, name in self.pods.all()}
        on: dict[str, set[str]] = {node: set() for node in self._nodes}
        for pod in self.pods.all().values():
            if pod.node:
                on[pod.node].add(pod.uid)
        for node in self._nodes:
            ledger = self.table.node(node)
            assert ledger is not None
            assert on[node] - self._perhaps_uncounted <= set(ledger.entries) <= on[node], (
                f"{node}: ledger and cluster differ"
            )
            assert all(entry.state is EntryState.BOUND for entry in ledger.entries.values())
            for uid, entry in ledger.entries.items():
                held = self.pods.held(uid)
                assert held.items() <= entry.shares.items(), f"{uid} holds {held}, and the ledger has {entry.shares}"
            assert_gives_no_more(ledger)
            used = {pool: ledger.allocated(pool) for pool in CAPACITY}
            assert left(CAPACITY, used) == {pool: (ledger.avail or {}).get(pool, 0) for pool in CAPACITY}
        there = {uid for uids in on.values() for uid in uids}
        assert self.tally.succeeded - self.tally.ended <= there, "a pod that was bound is not there"
        assert self.table.open_reservations() == []


def _read(content: object) -> Pod:
    read = read_pod(content)
    assert isinstance(read, Pod)
    return read


def nodes_for(binds: int) -> int:
    """How many nodes a run of so many binds has by default."""
    return min(MOST_NODES, max(2, binds // BINDS_OF_NODE))
