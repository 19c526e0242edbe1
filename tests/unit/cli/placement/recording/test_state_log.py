"""What is written of which publication, which states are written before a decision, and which decisions have none."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.table import StaleFence
from berth_cli.placement.recording.format import MAX_VERSIONS, State
from berth_cli.placement.recording.recorder import StateLog
from tests.fakes.verbs import Verbs
from tests.unit.nodecache.feed.feeds import Store, Writing, node, state_of

ONE, TWO = node("n1"), node("n2")
POD, BUDGET = Change("pods", "ns/p", {"metadata": {}}), Change("poddisruptionbudgets", "ns/b", {"metadata": {}})


class Following:
    """A log that has written the first state: ONE, version 1."""

    def __init__(self) -> None:
        self.store, self._written = Store(), list[State]()
        self.leader = Writing(self.store)
        self.leader.replace(state_of(ONE), ONE)
        self.log = StateLog(self.store, self._written.append)
        assert self.written() == [State(1, [ONE], is_whole=True)]

    def written(self) -> list[State]:
        """Since the last time."""
        self.log.read()
        self.log.reach()
        written, self._written[:] = list(self._written), []
        return written


def test_leaves_out_what_a_deposed_leader_left_behind() -> None:
    following = Following()
    successor = Writing(following.store)
    with pytest.raises(StaleFence):
        following.leader.flush(POD)
    successor.flush(TWO)
    assert following.written() == [State(2, [TWO], is_whole=False)]


def test_begins_anew_where_a_change_is_missing() -> None:
    following = Following()
    following.leader.flush(POD)
    following.leader.replace(state_of(TWO), TWO)
    assert following.written() == [State(3, [TWO], is_whole=True)]
    assert not following.log.reach(2)


def test_begins_anew_where_the_head_is_a_new_one() -> None:
    """It has the same version and epoch."""
    following = Following()
    published = following.store.pointer.published
    following.store.item.delete()
    Writing(following.store).replace(state_of(TWO), TWO)
    assert following.store.pointer.published == published
    assert following.written() == [State(1, [TWO], is_whole=True)]


class World:
    """A node cache whose only node changes; the first state of the log is version 3."""

    def __init__(self) -> None:
        self.verbs, self.written = Verbs([]), list[State]()
        self._publish(3)
        self.log = StateLog(self.verbs.table, self.written.append)
        self.log.read()

    def change(self, times: int) -> None:
        self._publish(times)
        self.log.read()

    @property
    def versions(self) -> list[int]:
        return [state.version for state in self.written]

    def _publish(self, times: int) -> None:
        for number in range(times):
            label = {"number": f"{len(self.written)}-{number}"}
            self.verbs.cluster.publish("nodes", [{"metadata": {"name": "a", "labels": label}}])


def first(world: World) -> int:
    world.log.reach(1_000_000)
    return world.versions[0]


@pytest.mark.parametrize(("back", "has_state"), [(MAX_VERSIONS - 1, True), (MAX_VERSIONS, False)])
def test_a_decision_that_is_too_far_back_has_no_state(back: int, has_state: bool) -> None:
    world = World()
    world.change(2 * MAX_VERSIONS)
    world.log.read()
    world.log.reach()
    assert world.log.reach(world.versions[-1] - back) is has_state
