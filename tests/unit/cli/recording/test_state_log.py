"""The states of a node cache as a log: what is written of which publication."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.table import StaleFence
from berth_cli.recording.format import State
from berth_cli.recording.state_log import StateLog
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
        self.log.follow()
        written, self._written[:] = list(self._written), []
        return written


def test_writes_the_changes_of_all_parts_in_the_order_of_versions() -> None:
    following = Following()
    following.leader.flush(POD, TWO)
    following.leader.flush(BUDGET)
    changes = [(2, TWO), (3, POD), (4, BUDGET)]
    assert following.written() == [State(version, [change], is_whole=False) for version, change in changes]
    assert following.log.has(4)


def test_writes_nothing_while_nothing_changes() -> None:
    following = Following()
    following.leader.flush()
    assert following.written() == []


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
    assert not following.log.has(2)
