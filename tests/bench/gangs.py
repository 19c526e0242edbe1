"""Calls for members of gangs, beside those for a plain pod on the same cluster: 20 gangs of 16 wait.

Each call for a member reads the items of the gangs that are being placed. Here they are as DynamoDB answers them,
without its time: one gang of 64 is open, one is committed, and 50 of 64 run, whose items the watch has deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from berth.extender.ports import OpenGangs
from berth.gangs.dynamodb_item import gang_item, read_gang
from berth.gangs.item import GangItem, GangState, Intent
from berth.gangs.open_gangs import TableOpenGangs
from berth.gangs.watch import EXPIRY_SECONDS, GangWatch
from berth.reservations.ledger.entry import PodKey
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.embedded_store.gang_table import InMemoryGangTable
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from tests.bench import cluster
from tests.bench.calls import Environment
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure, milliseconds
from tests.capacity.item_size import item_size, read_units
from tests.fakes.pods import PodsInMemory

NODES, GANGS, SIZE = 5_000, 20, 16
RUNNING, RUNNING_SIZE = 50, 64
AT = 1_800_000_000.0
TARGET_RATIO = 3.0
KINDS = {"fitting": "100m", "not-fitting": "200"}
"""The cpu of a member."""


def families() -> Iterator[Family]:
    """Families by profile, with gangs that fit and with gangs that do not."""
    yield Family("gangs.items", _units)
    for profile in ("label-priority", "full"):
        for kind in KINDS:
            yield _family(profile, kind)


def _units() -> Iterator[Figure]:
    """Read units of the query that each call for a member makes."""
    placing, running = [opened("open"), committed("placed")], [committed(f"runs-{number}") for number in range(RUNNING)]
    yield Figure("gangs.items.units.placing", units_of(placing), "read units")
    yield Figure("gangs.items.units.running", units_of(after_the_watch(running)), "read units", 1)
    yield Figure("gangs.items.units.before_the_watch", units_of(running), "read units")


def _family(profile: str, kind: str) -> Family:
    name = f"filter.{profile}.gangs.{kind}"

    def measure() -> Iterator[Figure]:
        waiting = [member(gang, index, KINDS[kind]) for gang in range(GANGS) for index in range(SIZE)]
        start = waits_on(cluster.snapshot(NODES), waiting)
        plain, asked = (
            Environment("filter", profile, pod, NODES, start, gangs=being_placed())
            for pod in (cluster.plain_pod(), waiting[-1])
        )
        alone, together = milliseconds(plain.unchanged, asked.unchanged)
        yield Figure(f"{name}.unchanged.plain", alone, "ms")
        yield Figure(f"{name}.unchanged", together, "ms")
        yield Figure(f"{name}.unchanged.ratio", together / alone, "x", TARGET_RATIO)
        alone, together = milliseconds(plain.changed, asked.changed)
        yield Figure(f"{name}.changed.plain", alone, "ms")
        yield Figure(f"{name}.changed", together, "ms")
        yield Figure(f"{name}.changed.ratio", together / alone, "x")

    return Family(name, measure)


def waits_on(snapshot: Snapshot, waiting: list[Manifest]) -> Snapshot:
    """The cluster with these pods, which have no node."""
    found = [read_pod(each) for each in waiting]
    return snapshot.with_changes(Changes(pods=[each for each in found if isinstance(each, Pod)]))


def member(gang: int, index: int, cpu: str) -> Manifest:
    """A pod of a gang, by annotations."""
    manifest: dict[str, Any] = cluster.pod_manifest(cluster.PLAIN)
    name = f"gang-{gang}-{index}"
    annotations = {"berth.dev/gang": f"gang-{gang}", "berth.dev/gang-size": str(SIZE)}
    manifest["metadata"] |= {"name": name, "uid": f"uid-{name}", "annotations": annotations}
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return manifest


def opened(name: str, state: GangState = GangState.OPEN) -> GangItem:
    """A gang of 64 in bind; each member requests a device."""
    key, shares = GangKey("ml", name), {"example.com/gpumem#3": 8000} if state is GangState.COMMITTED else {}
    intents = {}
    for number in range(RUNNING_SIZE):
        uid = str(uuid5(NAMESPACE_OID, f"{name}-{number}"))
        pod = PodKey("ml", f"{name}-{number}", uid)
        demands = (Demand("example.com/gpumem", 8000),)
        intents[uid] = Intent(pod, cluster.node_name(number), uid.replace("-", ""), AT + 30, demands, shares)
    return GangItem(key, state, 1, RUNNING_SIZE, 0, 1, AT, AT, intents)


def committed(name: str) -> GangItem:
    """The same, when it has its shares."""
    return opened(name, GangState.COMMITTED)


def after_the_watch(items: Iterable[GangItem]) -> list[GangItem]:
    """What the watch leaves of the items of committed gangs whose members are on nodes, when their time is over."""
    table = InMemoryGangTable(InMemoryLedgerTable())
    for item in items:
        table.put(item, None)

    def on_nodes(key: GangKey) -> Collection[str]:
        found = table.gang(key)
        return () if found is None else found.intents

    later = AT + EXPIRY_SECONDS
    GangWatch(table, PodsInMemory(), on_nodes, lambda: later, lambda event: None, lambda: None).work()
    return [*table.gangs()]


def units_of(items: Iterable[GangItem]) -> int:
    """Read units of a consistent query of these items."""
    found: Any = map(gang_item, items)
    return read_units(sum(map(item_size, found)))


class DecodedGangs(InMemoryGangTable):
    """Gangs as DynamoDB answers them: each read decodes all."""

    def __init__(self, items: Iterable[GangItem]) -> None:
        super().__init__(InMemoryLedgerTable())
        self._items: list[Any] = [gang_item(item) for item in items]

    def gangs(self) -> Sequence[GangItem]:
        return [read_gang(item) for item in self._items]


def being_placed() -> OpenGangs:
    """One gang is open, and one is committed. Their members are not among those that wait."""
    table = DecodedGangs([opened("open"), committed("placed")])
    return TableOpenGangs(table, lambda: AT, lambda deadline, query: query(), print)
