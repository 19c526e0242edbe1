"""Members of gangs that are bound at the same time, in virtual time: real bind, real barrier, real commit.

At each call of a table or of the API server another bind goes on. One of all calls may be cut short. What must hold is
checked at every Binding and at every version of the ledger, not only at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NoReturn, TypeVar

from berth.dynamodb_errors import TableUnavailable
from berth.extender.bind import bind
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.extender.ports import Binding, Created, NodeCache, Refused, Unanswered
from berth.extender.prepared_bind import BindRules, CountedResources
from berth.gangs.barrier import GangTableBarrier
from berth.gangs.item import Domain, GangItem, GangState, Intent
from berth.gangs.table import GangTable, NotTransacted, Transaction
from berth.reservations.bind.reservations import LedgerReservations
from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, PodKey
from berth.reservations.ledger.ledger import Ledger, new_ledger
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.exemption import SYSTEM_CRITICAL_PRIORITY
from berth.scheduling.gangs.gang import GangKey
from berth_cli.embedded_store.gang_table import InMemoryGangTable
from tests.fakes.clock import HandDrivenClock
from tests.fakes.node_cache import FixedNodeCache
from tests.fakes.pods import PodsInMemory
from tests.simulation.reservations.binds import (
    GPU_MEMORY,
    HTTP_TIMEOUT,
    LICENCE,
    CheckedTable,
    Died,
    Fault,
    Wire,
    WiredBinder,
    WiredTable,
)
from tests.simulation.world import EPOCH, World

T = TypeVar("T")

BACKOFF_SECONDS = 1.0
CALL_SECONDS = 0.5
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
COUNTING = CONFIGURATION.policy().counting


def unavailable() -> NoReturn:
    """What a call without an answer raises."""
    raise TableUnavailable("ledger table: no answer")


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a gang, and the node that the scheduler chose for it."""

    name: str
    node: str
    gang: str = "train"
    minimum: int = 4
    priority: int = 0
    requests: Mapping[str, str] = field(default_factory=lambda: {LICENCE: "1"})
    generation: int = 0

    @property
    def uid(self) -> str:
        return f"uid-{self.name}-{self.generation}"

    @property
    def key(self) -> GangKey:
        return GangKey("ml", self.gang)


class Turns(Wire):
    """At every call another actor may go on. Faults are by the number of the call among those of all binds."""

    def __init__(self, world: World, faults: Mapping[int, Fault] | None = None) -> None:
        super().__init__(faults or {})
        self._world = world
        self.ambush: dict[str, Callable[[], object]] = {}
        """What happens once before a call of this name."""

    def carry(self, name: str, effect: Callable[[], T], unanswered: Callable[[], T]) -> T:
        self._world.pause(0.001)
        self.ambush.pop(name, lambda: None)()
        return super().carry(name, effect, unanswered)


class WiredGangTable(GangTable):
    """The table of gangs over the wire."""

    def __init__(self, table: GangTable, wire: Wire) -> None:
        self._table = table
        self._wire = wire

    def gangs(self) -> Sequence[GangItem]:
        return self._wire.carry("Query gangs", self._table.gangs, unavailable)

    def gang(self, key: GangKey) -> GangItem | None:
        return self._wire.carry("GetItem gang", lambda: self._table.gang(key), unavailable)

    def most_members(self, intent: Intent) -> int:
        return self._table.most_members(intent)

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        return self._written(f"PutItem {item.state}", lambda: self._table.put(item, seen))

    def delete(self, seen: GangItem) -> bool:
        return self._written("DeleteItem gang", lambda: self._table.delete(seen))

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        return self._wire.carry("join", lambda: self._table.join(key, round_, intent), unavailable)

    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        return self._wire.carry("withdraw", lambda: self._table.withdraw(key, round_, uid, attempt), unavailable)

    def domain(self) -> Domain:
        return self._wire.carry("GetItem domain", self._table.domain, unavailable)

    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        return self._written("PutItem domain", lambda: self._table.put_domain(domain, seen))

    def ledgers(self, nodes: Collection[str]) -> Mapping[str, NodeLedger]:
        return self._wire.carry("BatchGetItem", lambda: self._table.ledgers(nodes), unavailable)

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        return self._wire.carry("TransactWriteItems", lambda: self._table.transact(transaction), unavailable)

    def _written(self, name: str, write: Callable[[], bool]) -> bool:
        return self._wire.carry(name, write, unavailable)


class _WorldClock(HandDrivenClock):
    """Who waits lets others go on."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def __call__(self) -> float:
        return EPOCH + self._world.now

    def advance(self, seconds: float) -> None:
        self._world.pause(seconds)


class GangPods(PodsInMemory):
    """Looks at every Binding that is carried out."""

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
    ) -> None:
        self.world = World(seed)
        self._http_timeout = http_timeout
        self.members = {member.name: member for member in members}
        self.pods = GangPods(self._assert_committed)
        self.ledger = CheckedTable()
        self.ledger.check = lambda: None
        self.gangs = InMemoryGangTable(self.ledger)
        self.wire = Turns(self.world, faults)
        self.outcomes: Counter[BindOutcome | None] = Counter()
        self.reasons: Counter[str] = Counter()
        self._bound_before_loss: set[str] = set()
        self.cache: NodeCache = FixedNodeCache.of(CONFIGURATION, *map(node_object, {member.node for member in members}))
        self._clock = _WorldClock(self.world)
        self._ids = count(1)
        for node in sorted({member.node for member in members}):
            self.ledger.create(new_ledger(node, {LICENCE: licences, **DEVICES}, {}, epoch=1))
        for member in members:
            self._add(member)

    def _add(self, member: Member) -> None:
        annotations = {"berth.dev/gang": member.gang, "berth.dev/gang-size": str(member.minimum)}
        self.pods.add(member.name, member.uid, member.requests, annotations=annotations, priority=member.priority)

    # -------------------------------------------------------------------------------------------------------- actors

    def bind(self, member: Member, wire: Wire | None = None) -> BindOutcome | None:
        """One call of bind; None if its process died."""
        wire = wire or self.wire
        ledger, gangs = WiredTable(self.ledger, wire), WiredGangTable(self.gangs, wire)
        new_id = lambda: f"attempt-{next(self._ids)}"  # noqa: E731
        reservations = LedgerReservations(ledger, new_id, self._clock, CALL_SECONDS)
        barrier = GangTableBarrier(
            gangs,
            ledger,
            self.cache,
            new_id=new_id,
            wall=self._clock,
            sleep=self._clock.sleep,
            call_seconds=CALL_SECONDS,
        )
        rules = BindRules(CountedResources(COUNTING, reservations), gangs=barrier)
        binding = Binding("ml", member.name, member.uid, member.node)
        deadline = Deadline(self._http_timeout - 1, self._clock)
        try:
            result = bind(binding, WiredBinder(self.pods, wire, self._clock), deadline, rules)
        except Died:
            self.outcomes[None] += 1
            return None
        self.outcomes[result.outcome] += 1
        self.reasons[result.reason] += 1
        return result.outcome

    def end(self, member: Member) -> None:
        """The pod is gone, and its share is released."""
        self.pods.delete(member.name)
        ledger = self.ledger.node(member.node)
        assert ledger is not None
        Ledger(self.ledger).release(member.node, ledger.entries[member.uid], ledger=ledger)

    def replace(self, member: Member) -> None:
        """The pod is gone, and another one comes in its place."""
        self.end(member)
        again = self.members[member.name] = replace(member, generation=member.generation + 1)
        self._add(again)

    def come(self, members: Sequence[Member]) -> None:
        """More pods of the gang are created."""
        for member in members:
            self.members[member.name] = member
            self._add(member)

    def lose_table(self) -> None:
        """The items of gangs and domain are gone, as after a restore from a backup."""
        self.gangs = InMemoryGangTable(self.ledger)
        self._bound_before_loss = self.bound()

    def occupy(self, node: str, shares: Mapping[str, int], *, before: str) -> None:
        """Another pod gets this of the node just before the first call of this name."""
        other = Entry(PodKey("ml", "other", "uid-other"), EntryState.RESERVED, "attempt-other", shares, EPOCH)
        self.wire.ambush[before] = lambda: Ledger(self.ledger).reserve(node, other)

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
        """All members are scheduled, one shortly after the other."""
        for number, member in enumerate(self.members.values()):
            self.schedule(member, after=0.01 * number, tries=tries)
        self.world.run(seconds)
        self.wire.deliver()

    # --------------------------------------------------------------------------------------------- what must hold

    def bound(self, gang: str = "train") -> set[str]:
        """The members that are on a node."""
        return {name for (_, name), pod in self.pods.all().items() if pod.node and self.members[name].gang == gang}

    def assert_whole(self, gang: str = "train") -> None:
        """All members of the gang are on their nodes, or none."""
        members = {name for name, member in self.members.items() if member.gang == gang}
        assert self.bound(gang) in (set(), members), f"only {self.bound(gang)} of {gang} are bound"

    def held(self) -> Counter[str]:
        """How many entries each node's ledger has."""
        return Counter({ledger.node: len(ledger.entries) for ledger in self.ledger.nodes() if ledger.entries})

    def _assert_committed(self, binding: Binding) -> None:
        member = self.members[binding.pod_name]
        if member.priority >= SYSTEM_CRITICAL_PRIORITY:
            return  # it is exempt
        item = self.gangs.gang(member.key)
        if item is None and any(self.pods.stored(name) for name in self._bound_before_loss):
            # The commit was lost, and the members that it bound are its proof.
            return
        assert item is not None, f"{member.name} is bound, and its gang never waited"
        assert item.state is GangState.COMMITTED, f"{member.name} is bound while its gang is {item.state}"
        assert len(item.intents) >= member.minimum
        ledger = self.ledger.node(binding.node)
        assert ledger is not None
        if not {LICENCE, GPU_MEMORY}.isdisjoint(member.requests):
            assert member.uid in ledger.entries, f"{member.name} is bound without its share"


def node_object(name: str) -> dict[str, object]:
    """A v1.Node; what it has is in its ledger."""
    return {"kind": "Node", "metadata": {"name": name}}


def gang_of(size: int, *, per_node: int = 1, name: str = "train", prefix: str = "", **fields: object) -> list[Member]:
    """Members of one gang, so many on each node. prefix: of the pods' names; by default the gang's name."""
    fields = {"minimum": size, **fields}
    return [
        Member(f"{prefix or name}-{number}", f"node-{number // per_node:04}", name, **fields)  # type: ignore[arg-type]
        for number in range(size)
    ]
