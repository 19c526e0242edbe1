"""Why a gang does not fit: the resource of which most is missing, in numbers. For people; filter does not need it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from berth.scheduling.fields.reading import UnreadableObject
from berth.scheduling.fields.resources import shown_amount
from berth.scheduling.gangs.planned_nodes import PlannedNodes
from berth.scheduling.managed_resources.counting import Counting, Insufficient
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import Pod


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a gang needs, and what there is beside the gangs that have places.

    members: how many need a place. placed: how many of them would have one. resource, amount: what each of so many
    members requests of the scarcest resource; empty where other rules decide. room, nodes: how many of them have
    enough of it, on how many nodes. Amounts and names of resources that some node has: nothing here is a text of the
    pods' owner.
    """

    members: int
    placed: int
    requesting: int = 0
    resource: str = ""
    amount: str = ""
    room: int = 0
    nodes: int = 0

    def __str__(self) -> str:
        if not self.requesting:
            return f"{self.placed} of {self.members} members have a node that takes them"
        if not self.resource:
            return f"{self.requesting} members request a resource that no node has"
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        where = f"there is room for {self.room} on {nodes}" if self.room else "no node has so much left"
        return f"needs {self.requesting} x {self.amount} {self.resource}, {where}"


def shortage_of(
    groups: Sequence[Sequence[Pod]], placed: int, planned_nodes: PlannedNodes, counting: Counting
) -> Shortage:
    """groups: the members that need a place, those that are alike together. placed: how many would have one."""
    members = sum(map(len, groups))
    found = [short for group in groups for short in _short(group, members, placed, planned_nodes, counting)]
    rules = Shortage(members, placed)
    return min(found, key=lambda short: (short.room - short.requesting, short.resource), default=rules)


def _short(
    group: Sequence[Pod], members: int, placed: int, planned_nodes: PlannedNodes, counting: Counting
) -> Iterator[Shortage]:
    """The resources of which the nodes have too little for these members, each looked at alone."""
    needed = len(group)
    for name, amount in group[0].spec.requests.asked.items():
        if name in counting.ignored_by_scheduler or amount <= 0:
            continue
        is_known, counts = False, list[int]()
        for node in map(planned_nodes.node, planned_nodes.snapshot.nodes):
            is_known = is_known or name in node.allocatable
            fitting = min(needed, node.free.get(name, 0) // amount)
            if fitting > 0:
                counts.append(fitting)
        if sum(counts) < needed:
            shown = (name, shown_amount(name, amount)) if is_known else ("", "")
            yield Shortage(members, placed, needed, *shown, sum(counts), len(counts))
    demands = counting.demands(group[0]) if counting.counts else ()
    for demand in () if isinstance(demands, UnreadableObject) else demands:
        counts = list(_counted(group, demand, planned_nodes, counting))
        if sum(counts) < needed:
            amount_text = f"{demand.amount}%" if demand.percent else str(demand.amount)
            yield Shortage(members, placed, needed, demand.resource, amount_text, sum(counts), len(counts))


def _counted(group: Sequence[Pod], demand: Demand, planned_nodes: PlannedNodes, counting: Counting) -> Iterator[int]:
    """How many of these members have their share of a counted resource, of each node that has one for any."""
    for name in planned_nodes.snapshot.nodes:
        fitting, tried = 0, planned_nodes
        while fitting < len(group) and not isinstance(counting.placed((demand,), tried.node(name)), Insufficient):
            if tried is planned_nodes:
                tried = planned_nodes.copy()
            tried.place(group[fitting], name)
            fitting += 1
        if fitting:
            yield fitting
