"""Gangs with a topology key in bind: whatever members come, in which order, and whatever is cut short, those on nodes
are in one domain, and were committed with the minimum.

GangWorld checks it at every Binding.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulation.gangs.binds import ZONE, GangWorld, gang_of
from tests.simulation.reservations.binds import Fault

pytestmark = pytest.mark.long

ZONES = ("a", "b")


@dataclass(frozen=True)
class Case:
    """zones: of the members' nodes. after: when each of them comes, in seconds. replaced: members that are replaced
    when the first have ended, with the zone of the new pod's node."""

    zones: tuple[str, ...]
    minimum: int
    after: tuple[float, ...]
    fault: tuple[int, Fault] | None
    replaced: tuple[tuple[int, str], ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    zones = draw(st.lists(st.sampled_from(ZONES), min_size=2, max_size=6))
    numbers = st.integers(0, len(zones) - 1)
    return Case(
        tuple(zones),
        draw(st.integers(1, len(zones))),
        tuple(draw(st.lists(st.sampled_from([0.0, 0.01, 0.3, 4.0]), min_size=len(zones), max_size=len(zones)))),
        draw(st.none() | st.tuples(st.integers(0, 60), st.sampled_from(Fault))),
        tuple(draw(st.dictionaries(numbers, st.sampled_from(ZONES), max_size=3)).items()),
    )


@settings(max_examples=150)
@given(cases(), st.integers(0, 5))
def test_bound_members_are_in_one_domain_and_reach_the_minimum(case: Case, seed: int) -> None:
    members = gang_of(len(case.zones), minimum=case.minimum, topology_key=ZONE)
    nodes = [member.node for member in members]
    faults = {} if case.fault is None else dict([case.fault])
    world = GangWorld(members, zones=dict(zip(nodes, case.zones, strict=True)), seed=seed, faults=faults)
    world.publish()
    for member, after in zip(members, case.after, strict=True):
        world.schedule(member, after=after, tries=3)
    world.world.run(25.0)
    world.wire.deliver()
    if case.fault is None:
        assert len(world.bound()) == 0 or len(world.bound()) >= case.minimum

    for number, zone in case.replaced:
        # The new pod gets a node of this zone, if there is one.
        node = next((name for name in nodes if world.zones[name] == zone), nodes[number])
        world.replace(members[number], node)
    world.publish()
    for number, _ in case.replaced:
        world.schedule(world.members[f"train-{number}"], tries=3)
    world.world.run(60.0)
    zones = {world.zones[pod.node] for pod in world.pods.all().values() if pod.node}
    assert len(zones) <= 1
