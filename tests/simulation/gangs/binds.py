"""Members of gangs that are bound at the same time, in virtual time: real bind, real barrier, real commit.

At each call of a table or of the API server another bind may continue. One call may be interrupted. The invariants are
checked at every Binding and at every version of the ledger, not only at the end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from berth.bind.announcing import Announcements
from berth.bind.answer import bind
from berth.bind.gang.barrier import GangBarrier
from berth.bind.rules import BindRules, CountedResources
from berth.bind.share import Reservations
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.extender.ports import NodeCache
from berth.ledger.gangs.item import GangState
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import Ledger, new_ledger
from berth.pods import Binding, Created, Refused, Unanswered
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.sources.dump.objects import read_objects
from tests.contract.ledger.ledgers import reserve
from tests.fakes.clock import HandDrivenClock
from tests.fakes.node_cache import FixedNodeCache
from tests.fakes.pods import PodsInMemory, StoredPod
from tests.simulation.reservations.binds import (
    GPU_MEMORY,
    HTTP_TIMEOUT,
    LICENCE,
    CheckedTable,
    Died,
    Fault,
    Wire,
    WiredBinder,
    wired_table,
)
from tests.simulation.world import EPOCH, World

from .wire import REQUEST_SECONDS, Turns, wired_gang_table

BACKOFF_SECONDS = 1.0
CALL_SECONDS = 0.5
ZONE = "zone"
NO_ZONES: Mapping[str, str] = {}
DEVICES = {f"{GPU_MEMORY}#0": 8000, f"{GPU_MEMORY}#1": 8000}

CONFIGURATION = BerthConfiguration.model_validate(
    {
        "managedResources": [
            {"name": LICENCE},
            {"name": GPU_MEMORY, "devices": {"sizes": {"nodeAnnotation": "example.com/gpus"}}},
        ],
        "gangs": {"enabled": True},
    }
)
POLICY = CONFIGURATION.policy()
COUNTING = POLICY.counting


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a gang, and the node that the scheduler chose for it."""

    name: str
    node: str
    gang: str = "train"
    minimum: int = 4
    priority: int = 0
    requests: Mapping[str, str] = field(default_factory=lambda: {LICENCE: "1"})
    topology_key: str = ""
    timeout: int = 0
    generation: int = 0

    @property
    def uid(self) -> str:
        return f"uid-{self.name}-{self.generation}"

    @property
    def key(self) -> GangKey:
        return GangKey("ml", self.gang)


class _WorldClock(HandDrivenClock):
    """A clock that lets other actors run while it waits."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def __call__(self) -> float:
        return EPOCH + self._world.now

    def advance(self, seconds: float) -> None:
        self._world.pause(seconds)


class GangPods(PodsInMemory):
    """Stores pods, and calls `check` after every Binding that is carried out."""

    def __init__(self, check: Callable[[Binding], None]) -> None:
        super().__init__()
        self._check = check

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        result = super().create_binding(binding, timeout)
        if isinstance(result, Created):
            self._check(binding)
        return result


class GangWorld:
    """Nodes with a ledger, members of gangs, and a scheduler that tries each of them again until it is bound."""

    def __init__(
        self,
        members: Sequence[Member],
        *,
        seed: int = 0,
        licences: int = 2,
        faults: Mapping[int, Fault] | None = None,
        http_timeout: float = HTTP_TIMEOUT,
        zones: Mapping[str, str] | None = None,
        request_seconds: float = REQUEST_SECONDS,
        slots: int = sys.maxsize,
    ) -> None:
        """zones: the nodes' values of the label ZONE. request_seconds: duration of each call of a table or the API
        server. slots: the most binds that run at once; without a free slot, the scheduler tries a bind again."""
        self.world = World(seed)
        self._http_timeout = http_timeout
        self.members = {member.name: member for member in members}
        self.pods = GangPods(self._assert_committed)
        self.announcements: Announcements | None = None
        self.ledger = CheckedTable()
        self.ledger.check = lambda: None
        self.gangs = InMemoryGangTable(self.ledger)
        self.wire = Turns(self.world, faults, request_seconds)
        self._slots = slots
        self.outcomes: Counter[BindOutcome | None] = Counter()
        self.reasons: Counter[str] = Counter()
        self.zones = zones or {}
        self._licences = licences
        self._published: tuple[Mapping[tuple[str, str], StoredPod], Snapshot, Mapping[str, Pod]] | None = None
        self.wall = self._clock = _WorldClock(self.world)
        self._ids = count(1)
        for node in sorted({member.node for member in members}):
            self.ledger.create(new_ledger(node, {LICENCE: licences, **DEVICES}, {}, epoch=1))
        for member in members:
            self._add(member)
        self.cache: NodeCache = cluster_of(self.pods, {member.node for member in members}, self.zones)

    def _add(self, member: Member) -> None:
        annotations = {"berth.dev/gang": member.gang, "berth.dev/gang-size": str(member.minimum)}
        if member.topology_key:
            annotations["berth.dev/gang-topology-key"] = member.topology_key
        if member.timeout:
            annotations["berth.dev/gang-timeout"] = str(member.timeout)
        self.pods.add(member.name, member.uid, member.requests, annotations=annotations, priority=member.priority)

    def bind(self, member: Member, wire: Wire | None = None) -> BindOutcome | None:
        """Run one call of bind; return None if its process died or no slot is free."""
        if not self._slots:
            return None
        self._slots -= 1
        try:
            return self._bind(member, wire or self.wire)
        finally:
            self._slots += 1

    def _bind(self, member: Member, wire: Wire) -> BindOutcome | None:
        ledger, gangs = wired_table(self.ledger, wire), wired_gang_table(self.gangs, wire)
        new_id = lambda: f"attempt-{next(self._ids)}"  # noqa: E731
        reservations = Reservations(ledger, new_id, self._clock, CALL_SECONDS)
        barrier = GangBarrier(
            gangs,
            ledger,
            self.cache,
            new_id=new_id,
            wall=self._clock,
            sleep=self._clock.sleep,
            call_seconds=CALL_SECONDS,
        )
        rules = BindRules(CountedResources(COUNTING, reservations), announcements=self.announcements, gangs=barrier)
        binding = Binding("ml", member.name, member.uid, member.node)
        began_at, deadline = self.world.now, Deadline(self._http_timeout - 1, self._clock)
        try:
            result = bind(binding, WiredBinder(self.pods, wire, self._clock), deadline, rules)
        except Died:
            self.outcomes[None] += 1
            return None
        took = self.world.now - began_at
        assert took <= self._http_timeout, f"bind of {member.name} answered after {took:.1f} s: {result}"
        self.outcomes[result.outcome] += 1
        self.reasons[result.reason] += 1
        return result.outcome

    def end(self, member: Member) -> None:
        """Delete the pod and release its share."""
        self.pods.delete(member.name)
        ledger = self.ledger.node(member.node)
        assert ledger is not None
        if member.uid in ledger.entries:
            Ledger(self.ledger).release(member.node, ledger.entries[member.uid], ledger=ledger)

    def replace(self, member: Member, node: str = "") -> None:
        """Replace the pod with a new one. node: the new pod's node if it differs."""
        self.end(member)
        again = replace(member, generation=member.generation + 1, node=node or member.node)
        self.members[member.name] = again
        self._add(again)

    def come(self, members: Sequence[Member]) -> None:
        for member in members:
            self.members[member.name] = member
            self._add(member)

    def publish(self) -> tuple[Snapshot, Mapping[str, Pod]]:
        """Publish into the node cache as the leader does; return the snapshot and all pods by namespace and name."""
        stored = self.pods.all()
        if self._published is None or self._published[0] != stored:
            nodes = [
                node_object(ledger.owner, self.zones.get(ledger.owner, ""), self._licences)
                for ledger in self.ledger.nodes()
            ]
            read = {f"{key[0]}/{key[1]}": read_pod(pod.content(*key)) for key, pod in stored.items()}
            pods = {name: pod for name, pod in read.items() if isinstance(pod, Pod)}
            snapshot = Snapshot.of(read_objects(nodes).nodes, pods.values())
            self._published = stored, snapshot, pods
            self.cache = FixedNodeCache(CONFIGURATION, snapshot)
        return self._published[1:]

    def lose_table(self) -> None:
        """Lose the items of gangs and of the domain, as after a restore from a backup."""
        self.gangs = InMemoryGangTable(self.ledger)

    def occupy(self, node: str, shares: Mapping[str, int], *, before: str) -> None:
        """Reserve these shares of the node for another pod just before the first call of this name."""
        other = Entry(PodKey("ml", "other", "uid-other"), EntryState.RESERVED, "attempt-other", shares, EPOCH)
        self.wire.ambush[before] = lambda: reserve(Ledger(self.ledger), node, other)

    def schedule(self, member: Member, *, after: float = 0.0, tries: int = 100) -> None:
        """Bind the member until it is on its node, with the scheduler's backoff after each failure."""

        def tried() -> None:
            self.world.pause(after)
            for _ in range(tries):
                found = self.pods.stored(member.name)
                if found is None or found.node:
                    return
                self.bind(member)
                self.world.pause(BACKOFF_SECONDS)

        self.world.start(member.name, tried)

    def run(self, seconds: float = 60.0, *, tries: int = 100) -> None:
        """Schedule all members, shortly after each other."""
        for number, member in enumerate(self.members.values()):
            self.schedule(member, after=0.01 * number, tries=tries)
        self.world.run(seconds)
        self.wire.deliver()

    def bound(self, gang: str | None = "train") -> set[str]:
        """Return the names of the gang's members that are on a node. gang: None for the members of all gangs."""
        on_nodes = {name for (_, name), pod in self.pods.all().items() if pod.node}
        return {name for name in on_nodes if gang is None or self.members[name].gang == gang}

    def is_counted(self, name: str) -> bool:
        return not {LICENCE, GPU_MEMORY}.isdisjoint(self.members[name].requests)

    def _living(self, gang: str) -> Iterator[tuple[str, StoredPod]]:
        for (_, name), pod in self.pods.all().items():
            member = self.members[name]
            is_exempt = member.priority >= SYSTEM_CRITICAL_PRIORITY
            if member.gang == gang and not is_exempt and not pod.deleting and pod.phase == "Pending":
                yield name, pod

    def assert_whole(self, gang: str = "train") -> None:
        """Assert that either all members of the gang are on their nodes or none is."""
        members = {name for name, member in self.members.items() if member.gang == gang}
        assert self.bound(gang) in (set(), members), f"only {self.bound(gang)} of {gang} are bound"

    def held(self) -> Counter[str]:
        return Counter({ledger.owner: len(ledger.entries) for ledger in self.ledger.nodes() if ledger.entries})

    def _assert_committed(self, binding: Binding) -> None:
        member = self.members[binding.pod_name]
        if member.priority >= SYSTEM_CRITICAL_PRIORITY:
            return  # it is exempt
        if member.topology_key:
            others = {self.zones[pod.node] for _, pod in self._living(member.gang) if pod.node}
            assert len(others) == 1, f"members of {member.gang} are in {others}"
        item = self.gangs.gang(member.key)
        if item is None or item.state is not GangState.COMMITTED:
            # The commit was lost or has expired: the members that it bound prove it.
            others = {name for name, pod in self._living(member.gang) if pod.node and name != member.name}
            assert others, f"{member.name} is bound, and its gang is {item and item.state}"
        else:
            assert len(item.intents) >= member.minimum
        ledger = self.ledger.node(binding.node)
        assert ledger is not None
        if self.is_counted(member.name):
            assert member.uid in ledger.entries, f"{member.name} is bound without its share"


def node_object(name: str, zone: str = "", licences: int = 2) -> dict[str, object]:
    """Return a v1.Node with the resources of its ledger."""
    metadata = {"name": name, "labels": {ZONE: zone} if zone else {}, "annotations": {"example.com/gpus": "8000,8000"}}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": {"pods": "110", LICENCE: str(licences)}}}


def cluster_of(pods: PodsInMemory, nodes: Iterable[str], zones: Mapping[str, str] = NO_ZONES) -> FixedNodeCache:
    """Return the node cache after the watcher published these pods and nodes."""
    found = [pod.content(namespace, name) for (namespace, name), pod in pods.all().items()]
    return FixedNodeCache.of(CONFIGURATION, *(node_object(node, zones.get(node, "")) for node in nodes), *found)


def gang_of(size: int, *, per_node: int = 1, name: str = "train", prefix: str = "", **fields: object) -> list[Member]:
    """Return a gang's members, `per_node` on each node. prefix: of the pods' names, by default the gang's name."""
    fields = {"minimum": size, **fields}
    return [
        Member(f"{prefix or name}-{number}", f"node-{number // per_node:04}", name, **fields)  # type: ignore[arg-type]
        for number in range(size)
    ]


# Two gangs compete for room for one, in histories drawn from seeds: they run one after the other, each as a whole.


def run_two_gangs(seed: int) -> None:
    """Run a history, always the same for the same seed. Raises AssertionError if an invariant is broken."""
    random = Random(seed)
    members = [*gang_of(6), *gang_of(6, name="other", priority=seed % 2)]
    random.shuffle(members)
    world = GangWorld(members, licences=1, seed=seed)
    for member in members:
        world.schedule(member, after=random.uniform(0.0, 3.0), tries=1000)
    world.world.run(180.0)
    first = "train" if world.bound("train") else "other"
    assert sorted(len(world.bound(gang)) for gang in ("train", "other")) == [0, 6], f"seed {seed}"
    # The first gang ends, and the other gang runs.
    for member in members:
        if member.gang == first:
            world.end(member)
    world.world.run(400.0)
    assert len(world.bound("other" if first == "train" else "train")) == 6, f"seed {seed}"
