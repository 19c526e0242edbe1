"""Events on members of waiting gangs: when, how often, and on which members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES, PODS
from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.upkeep.pod_events import PodEventReason
from berth.upkeep.waiting_gangs import COPY_SECONDS, MAX_MEMBERS, PATIENCE_SECONDS, REPEAT_SECONDS, WaitingGangs
from tests.builders.gangs import member_object
from tests.builders.nodes import node_with
from tests.builders.planned import CPU, gang_policy
from tests.fakes.clock import HandDrivenClock

POLICY = gang_policy()
KEPT = projections(RequiredFields.of(POLICY))
TOLD = {
    (f"train-{number}", PodEventReason.GANG_WAITS_FOR_MEMBERS, "the gang waits: 2 of 4 members exist")
    for number in range(2)
}


class World:
    """The published objects, and the WaitingGangs that they are passed to."""

    def __init__(self) -> None:
        self.clock = HandDrivenClock(1000.0)
        self.objects: dict[Key, Object] = {}
        self.waiting = WaitingGangs(POLICY, list, self.clock)
        self.publish(Change("nodes", "n0", KEPT[NODES](node_with("n0", None, allocatable={"cpu": "3", "pods": "99"}))))

    def publish(self, *changes: Change) -> None:
        for change in changes:
            key = change.resource, change.key
            if change.object is None:
                self.objects.pop(key, None)
            else:
                self.objects[key] = change.object
        self._publish(changes, self.objects)
        self.clock.advance(COPY_SECONDS)
        self._publish((), self.objects)

    def _publish(self, changes: Sequence[Change], objects: Mapping[Key, Object]) -> None:
        self.waiting.published(Publication(1, changes, objects, True, Observation("cluster", {}), {}))

    def told(self, after: float = 0.0) -> set[tuple[str, PodEventReason, str]]:
        self.clock.advance(after)
        return {(event.name, event.reason, event.note) for event in self.waiting.events()}


def pods(count: int, gang: str = "train", size: int = 4, first: int = 0, **fields: Any) -> Iterable[Change]:
    for number in range(first, first + count):
        obj: Mapping[str, Any] = member_object(f"{gang}-{number}", gang, size, requests=CPU, **fields)
        yield Change("pods", f"ml/{gang}-{number}", KEPT[PODS](dict(obj)))


def test_reports_why_members_wait_after_a_delay_and_again_later() -> None:
    world = World()
    world.publish(*pods(2))
    assert world.told() == set()
    assert world.told(PATIENCE_SECONDS) == TOLD
    assert world.told(REPEAT_SECONDS - 1) == set()
    assert world.told(1) == TOLD


def test_reports_a_changed_reason() -> None:
    world = World()
    world.publish(*pods(2))
    world.told()
    world.told(PATIENCE_SECONDS)
    world.publish(*pods(2, first=2))
    world.told()
    found = world.told(PATIENCE_SECONDS)
    assert {(reason, note) for _, reason, note in found} == {
        (PodEventReason.GANG_DOES_NOT_FIT, "the gang waits: needs 4 x 1 cpu, there is room for 3 on 1 node")
    }
    assert len(found) == 4


def test_does_not_report_gangs_that_are_planned_or_placed() -> None:
    world = World()
    world.publish(*pods(2, size=2), *pods(1, "runs", 1, spec={"nodeName": "n0"}))
    world.told()
    assert world.told(PATIENCE_SECONDS) == set()


def test_deleted_members_do_not_count_for_later_members() -> None:
    world = World()
    world.publish(*pods(2))
    world.told()
    world.publish(Change("pods", "ml/train-0", None), Change("pods", "ml/train-1", None))
    world.publish(*pods(1, first=2))
    world.told()
    assert {(name, note) for name, _, note in world.told(PATIENCE_SECONDS)} == {
        ("train-2", "the gang waits: 1 of 4 members exist")
    }


def test_does_not_copy_objects_for_members_that_are_placed_soon() -> None:
    world = World()

    class NeverCopied(dict[Key, Object]):
        def items(self) -> Any:
            raise AssertionError("the objects are copied")

    for number in range(3):
        world._publish(list(pods(1, first=number)), NeverCopied())
        world.clock.advance(COPY_SECONDS / 2)
        world._publish([Change("pods", f"ml/train-{number}", None)], NeverCopied())
        world.clock.advance(COPY_SECONDS)


def test_reports_at_most_max_members_of_a_large_gang() -> None:
    world = World()
    world.publish(*pods(MAX_MEMBERS + 1, size=MAX_MEMBERS + 9))
    world.told()
    assert len(world.told(PATIENCE_SECONDS)) == MAX_MEMBERS
