"""Gangs that cannot be placed: filter and bind return the same constant reason, and nothing is reserved or bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson
import pytest

from berth.extender.filter import answer_filter
from berth.extender.outcomes import BindOutcome
from berth.ledger.gangs.item import GangState
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.gangs import custom_group_object, pod_group
from tests.builders.planned import room_for
from tests.builders.requests import body_of, cache_mode
from tests.fakes.node_cache import FixedNodeCache
from tests.simulation.gangs.binds import CONFIGURATION, GangWorld, Member, gang_of
from tests.simulation.reservations.binds import LICENCE

NODES = ("node-0", "node-1")
LABEL = "scheduling.x-k8s.io/pod-group"


@dataclass(frozen=True)
class Named:
    """How a pod names its gang."""

    size: str | None = "2"
    name: str = "train"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotated: bool = True

    @property
    def annotations(self) -> dict[str, str]:
        if not self.annotated:
            return {}
        return {"berth.dev/gang": self.name, **({} if self.size is None else {"berth.dev/gang-size": self.size})}


def world_of(*named: Named, groups: Sequence[PodGroup] = ()) -> GangWorld:
    """Return a world with these pods, and two nodes with licences for them."""
    members = [Member(f"train-{number}", NODES[number % 2]) for number in range(len(named))]
    world = GangWorld(members)
    for member, each in zip(members, named, strict=True):
        world.pods.add(member.name, member.uid, {LICENCE: "1"}, annotations=each.annotations, labels=each.labels)
    waiting = [pod for name in world.members if isinstance(pod := read_pod(content(world, name)), Pod)]
    world.cache = FixedNodeCache(CONFIGURATION, Snapshot.of(map(room, NODES), waiting, pod_groups=groups))
    return world


def room(name: str) -> NodeInfo:
    """Return a node that the profile label-priority passes, with room for nine members."""
    return room_for(name, 9, {"priority.lixueduan.com": "1"})


def content(world: GangWorld, name: str) -> dict[str, object]:
    """Return the pod as the API server has it."""
    found = world.pods.stored(name)
    assert found is not None
    return found.content("ml", name)


def assert_filter_rejects(world: GangWorld, name: str, reason: str) -> None:
    """Check that filter rejects all nodes for this reason, and that preemption cannot help."""
    answer = orjson.loads(answer_filter(body_of(cache_mode(NODES, content(world, name))), world.cache).body)
    assert (answer["NodeNames"], answer["FailedNodes"], answer["Error"]) == ([], {}, "")
    assert answer["FailedAndUnresolvableNodes"] == dict.fromkeys(NODES, reason)


def assert_nothing_is_left(world: GangWorld) -> None:
    """Check that there is no share, reservation or Binding, and no open gang for which other gangs would wait."""
    assert world.bound() == set()
    assert world.held() == {}
    assert world.ledger.open_reservations() == []
    assert world.gangs.domain().open is None


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        pytest.param(Named(size="four"), "gang size is not a number", id="a word as size"),
        pytest.param(Named(size="0"), "gang size is below 1", id="a size of 0"),
        pytest.param(
            Named(labels={LABEL: "train"}, annotated=False), "gang has no PodGroup", id="a PodGroup that is deleted"
        ),
    ],
)
def test_filter_and_bind_reject_a_pod_of_an_invalid_gang(named: Named, reason: str) -> None:
    world = world_of(named, named)
    assert_filter_rejects(world, "train-0", reason)
    world.run(5.0, tries=1)
    assert (world.outcomes, world.reasons) == ({BindOutcome.GANG_INVALID: 2}, {reason: 2})
    assert_nothing_is_left(world)


def test_filter_and_bind_reject_a_member_with_another_gang_size() -> None:
    """bind checks again, because filter may have passed the pod on stale data."""
    reason = "gang size differs between members"
    world = world_of(Named(size="2"), Named(size="3"))
    for name in world.members:
        assert_filter_rejects(world, name, reason)
    world.run(5.0, tries=1)
    assert world.outcomes == {BindOutcome.GANG_INVALID: 1, BindOutcome.GANG_GAVE_UP: 1}
    assert world.reasons[reason] == 1
    assert_nothing_is_left(world)


def test_member_with_another_gang_size_joins_after_the_earlier_round() -> None:
    """The size in the first member's annotation has changed meanwhile."""
    first, *others = gang_of(3)
    world = GangWorld([replace(first, minimum=2), *others])
    world.schedule(world.members[first.name], tries=1)
    for member in others:
        world.schedule(member, after=1.0)
    world.world.run(1.5)
    assert world.reasons == {"gang size differs between members": 2}
    world.pods.change(first.name, annotations={"berth.dev/gang": "train", "berth.dev/gang-size": "3"})
    world.members[first.name] = first
    world.schedule(first, after=5.0)
    world.world.run(30.0)
    assert world.bound() == set(world.members)


def test_filter_rejects_a_gang_larger_than_the_cluster_and_bind_gives_up() -> None:
    """bind does not know how many more members come."""
    larger = 2 * 100 + 1
    world = world_of(*[Named(size=str(larger))] * larger)
    assert_filter_rejects(world, "train-0", "gang is larger than the cluster")
    world.schedule(world.members["train-0"], tries=1)
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.GANG_GAVE_UP: 1}
    assert_nothing_is_left(world)


def test_late_member_is_rejected_if_its_pod_group_was_deleted_while_others_wait() -> None:
    """The member that waits for the late member gives up."""
    group = pod_group(custom_group_object(minimum=2), PodGroupApi.COSCHEDULING)
    by_label = Named(labels={LABEL: "train"}, annotated=False)
    world = world_of(by_label, by_label, groups=[group])
    first, last = world.members.values()
    world.schedule(first, tries=1)
    world.schedule(last, after=1.0, tries=1)
    world.world.run(0.5)
    item = world.gangs.gang(first.key)
    assert item is not None
    assert (item.state, len(item.intents)) == (GangState.OPEN, 1)
    world.cache = FixedNodeCache(CONFIGURATION, Snapshot.of(map(room, NODES)))
    world.world.run(10.0)
    assert world.outcomes == {BindOutcome.GANG_INVALID: 1, BindOutcome.GANG_GAVE_UP: 1}
    assert world.reasons["gang has no PodGroup"] == 1
    assert_nothing_is_left(world)
