"""Binds, watchers and an API server around one ledger table, in virtual time: real bind, real reconciler.

At every call of the table or of the API server the seed decides which actor continues. Watchers die at random times.
Bindings may arrive long after their sender gave up. Pods end, are recreated under their names, and are bound by others;
capacity changes; watchers are replaced, and the old ones continue for a while as if nothing had happened.

In half of the histories pods request by an annotation, and their owners change and remove it at any time after the
Binding. Pods become too large for the cache, so that a new watcher does not find them there.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from berth.bind.answer import bind
from berth.bind.rules import BindRules, CountedResources
from berth.bind.share import Reservations
from berth.extender.deadline import Deadline
from berth.ledger.nodes.entry import EntryState
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState
from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, ReservedPods, Unanswered
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.reconciler import Reconciler
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import BY_ANNOTATION, COUNTING, NAMESPACE, REQUEST, SLOT, CountedCluster
from tests.fakes.intercepted import interrupted, interrupted_call
from tests.simulation.world import EPOCH, Actor, World
from tests.unit.upkeep.reconciler.reconciler_harness import check

HTTP_TIMEOUT = 5.0
LATE_SECONDS = 80.0
"""The longest delay of a Binding in seconds; the bind that sent it has given up long before."""

NODES = ("node-a", "node-b")
LASTS = 240.0
RECOVERY = 120.0
"""Time in seconds without binds and with one watcher: enough for the expiry, a rebuild, and whatever delays them."""

Nodes = dict[str, NodeInfo | None]
Pods = dict[str, Pod | None]


class _SlowBinder(PodBinder):
    """The API server for bind: one answer in four is lost, and then the Binding arrives at any time."""

    def __init__(self, history: ReservationsHistory) -> None:
        self._history = history

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        if self._history.world.random.random() < 0.25:
            late = self._history.world.random.uniform(0, LATE_SECONDS)
            self._history.world.after(late, lambda: self._history.arrived(binding))
            self._history.world.pause(min(timeout, 1.0))
            return Unanswered("timed out")
        return interrupted_call(self._history.between, lambda: self._history.arrived(binding))

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        return interrupted_call(self._history.between, lambda: self._history.cluster.pod(namespace, pod_name, timeout))


class ReservationsHistory:
    """A history, always the same for the same seed. `run` raises AssertionError if an invariant is broken."""

    retried = 0.1
    """Probability that a tried pod is tried again. If it is high, few reservations become old enough to expire."""

    pause = 3.0
    """The longest time in seconds between two binds of a scheduler."""

    sizes = (2, 4)
    """Range of the nodes' capacities at the beginning."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.counting = BY_ANNOTATION if seed % 2 else COUNTING
        self.cluster = CountedCluster()
        self.table = InMemoryLedgerTable()
        self.bound = 0
        self.berths: dict[str, str] = {}
        """By UID, the node to which Berth bound the pod."""
        self._tried: set[str] = set()
        self._ids = count(1)
        self._names = [f"pod-{number}" for number in range(8)]
        self._epoch = 0
        self._leader: Reconciler | None = None
        self._actor: Actor | None = None
        self._inbox: list[tuple[Nodes, Pods, float]] = []
        self.ends = False
        for node in NODES:
            self.cluster.nodes[node] = self.world.random.randint(*self.sizes)
        if self.world.random.random() < 0.8:
            self.table.put_marker(Marker(MarkerState.READY, 0, 0, "ready"), None)

    def run(self) -> None:
        """Run the whole history and the recovery, then check that the ledgers are consistent."""
        world = self.world
        self._publish()
        self.lead()
        for _ in range(3):
            world.start("bind", self._binds)
        world.after(1.0, self._something_happens)
        world.after(0.5, self._publish_again)
        world.run(LASTS)
        self.ends = True
        world.run(LASTS + LATE_SECONDS + RECOVERY)
        self.check_end()

    def between(self) -> None:
        """Let some time pass between two calls, and check the invariants."""
        self.check()
        self.world.pause(self.world.random.choice((0.0, 0.01, 0.1, 0.5)))
        self.check()

    def _wall(self) -> float:
        return EPOCH + self.world.now

    def _monotonic(self) -> float:
        return self.world.now

    def _new_id(self) -> str:
        return f"id-{next(self._ids)}"

    def arrived(self, binding: Binding) -> Created | Refused | Unanswered:
        done = self.cluster.create_binding(binding, 1.0)
        if isinstance(done, Created):
            self.bound += 1
            self.berths[binding.pod_uid] = binding.node
        self.check()
        return done

    def _binds(self) -> None:
        random = self.world.random
        counted = CountedResources(
            self.counting,
            Reservations(
                interrupted(LedgerTable, lambda: self.table, self.between), self._new_id, self._wall, call_seconds=0.1
            ),
        )
        while not self.ends:
            self.world.pause(random.uniform(0.1, self.pause))
            waiting = [pod for pod in self.cluster.pods.values() if not pod.node and not pod.finished]
            waiting = [pod for pod in waiting if pod.key.uid not in self._tried or random.random() < self.retried]
            if waiting:
                pod = random.choice(waiting).key
                self._tried.add(pod.uid)
                binding = Binding(NAMESPACE, pod.name, pod.uid, self.node_for(pod))
                deadline = Deadline(HTTP_TIMEOUT - 1, self._monotonic)
                bind(binding, _SlowBinder(self), deadline, BindRules(counted))

    def node_for(self, pod: PodKey) -> str:
        """Return the node that a scheduler chooses for the pod now."""
        return self.world.random.choice(NODES)

    def lead(self) -> None:
        """Let another watcher take over. The previous watcher may be dead, may continue, or may be frozen at one of its
        next calls and continue later."""
        self._epoch += 1
        if self._actor is not None and self.world.random.random() < 0.7 and not self.ends:
            calls, seconds = self.world.random.randint(0, 3), self.world.random.uniform(1.0, 40.0)
            self.world.freeze(self._actor, seconds, monotonic_stalls=False, calls=calls)
        reconciler = Reconciler(
            interrupted(LedgerTable, lambda: self.table, self.between),
            interrupted(ReservedPods, lambda: self.cluster, self.between),
            self.counting,
            self._epoch,
            HTTP_TIMEOUT,
            wall=self._wall,
            monotonic=self._monotonic,
            new_id=self._new_id,
            report=lambda event: None,
            on_capacity_released=lambda: None,
        )
        reconciler.update(*self.cluster.published(), self._wall())
        self._leader = reconciler
        inbox = self._inbox = []
        self._actor = actor = self.world.start(f"watcher-{self._epoch}", lambda: self._reconciles(reconciler, inbox))
        if self.world.random.random() < 0.5 and not self.ends:
            self.world.after(self.world.random.uniform(0.0, 40.0), lambda: self._dies(actor, reconciler))

    def _reconciles(self, reconciler: Reconciler, inbox: list[tuple[Nodes, Pods, float]]) -> None:
        """Run a reconciler, which learns of changes between two pieces of work, as its thread does."""
        while True:
            while inbox:
                reconciler.update(*inbox.pop(0))
            self.world.pause(max(0.01, min(0.5, reconciler.work())))

    def _dies(self, actor: Actor, reconciler: Reconciler) -> None:
        if self.ends:
            return
        self.world.crash(actor)
        if self._leader is reconciler:
            self.world.after(1.0, self.lead)

    def _publish(self) -> None:
        self._inbox.append((*self.cluster.publish(), self._wall()))

    def _publish_again(self) -> None:
        self._publish()
        self.world.after(self.world.random.uniform(0.2, 2.0), self._publish_again)

    def _something_happens(self) -> None:
        if self.ends:
            return
        random, cluster = self.world.random, self.cluster
        name, chance = random.choice(self._names), random.random()
        pod = cluster.pods.get(name)
        if pod is None:
            cluster.create_pod(name, random.randint(1, 2))
        elif chance < 0.3:
            cluster.delete(name)
        elif chance < 0.4 and not pod.finished:
            cluster.finish(name)
        elif chance < 0.45 and not pod.node and not pod.finished:
            cluster.place(name, random.choice(NODES))
        elif chance < 0.5:
            cluster.nodes[random.choice(NODES)] = random.randint(1, 5)
        elif chance < 0.56:
            self.lead()
        elif chance < 0.57:
            self._operator_requests_rebuild()
        elif pod.key.uid in self.berths:
            self.owner_acts(name, chance)
        self.check()
        self.world.after(random.uniform(0.1, 2.0), self._something_happens)

    def _operator_requests_rebuild(self) -> None:
        """Request a rebuild with the marker's epoch, as the command does: a leader's epoch would depose that leader."""
        seen = self.table.marker()
        epoch = 0 if seen is None else seen.epoch
        self.table.put_marker(Marker(MarkerState.REBUILDING, epoch, self._wall(), self._new_id()), seen)

    def owner_acts(self, name: str, chance: float) -> None:
        """Make a pod that Berth bound too large, or change or remove its request, as its owner may."""
        if chance < 0.65:
            self.cluster.hide(name)
        elif chance < 0.8:
            self.cluster.annotate(name, REQUEST, self.world.random.choice((None, "1", "100", "-")))

    def check(self) -> None:
        """Assert that every ledger adds up and has every pod that Berth bound to its node, while the pod runs."""
        for ledger in self.table.nodes():
            check(ledger)
        for pod in self.cluster.pods.values():
            node = self.berths.get(pod.key.uid)
            if node is None or pod.finished:
                continue
            found = self.table.node(node)
            if found is None or found.avail is None:
                continue
            entry = found.entries.get(pod.key.uid)
            assert entry is not None, f"{pod.key.name} is on {node}, and what it holds can be had by another"
            assert sum(entry.shares.values()) >= pod.units, f"{pod.key.name} holds more than is written down"

    def capacity(self, node: str) -> Mapping[str, int]:
        """Return the capacity of the node by pool."""
        return {SLOT: self.cluster.nodes[node]}

    def check_end(self) -> None:
        """Assert that the ledgers have exactly the pods on their nodes, and that everything else is free again."""
        for node in NODES:
            found = self.table.node(node)
            assert found is not None, f"{node} has no ledger"
            there = {pod.key.uid for pod in self.cluster.pods.values() if pod.node == node and not pod.finished}
            assert set(found.entries) == there, f"{node} has entries of others than {there}"
            assert {entry.state for entry in found.entries.values()} <= {EntryState.BOUND}
            assert found.capacity == self.capacity(node)
        assert self.table.open_reservations() == [], "a bind is under way for ever"
        marker = self.table.marker()
        assert marker is not None
        assert marker.state is MarkerState.READY
