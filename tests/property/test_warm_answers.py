"""A warm environment answers with the bytes of a cold one, whatever has changed and whichever names are asked about."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.filter import answer_filter, answer_filter_onlyone
from berth.extender.ports import DecisionContext, NodeCache
from berth.extender.prioritize import answer_prioritize
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.property.changing_clusters import NODES, Cluster, Event, clusters, events, incoming

pytestmark = pytest.mark.long

steps = st.lists(st.lists(events, min_size=1, max_size=3), min_size=1, max_size=5)
names = st.lists(st.sampled_from([*NODES, "joined", 'odd",']) | st.text(max_size=3), min_size=1, max_size=12)


class AtHand(NodeCache):
    """A snapshot and a policy."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot, self._policy = snapshot, BerthConfiguration(profile="full").policy()

    def current(self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS) -> DecisionContext:
        return DecisionContext(self._policy, self.snapshot)

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy


@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone, answer_prioritize])
@given(clusters(), steps, st.lists(incoming, min_size=1, max_size=2), st.data())
def test_warm_and_cold_answers_are_same_bytes(
    answer: Any, cluster: Cluster, changes: list[list[Event]], pods: list[dict[str, Any]], data: st.DataObject
) -> None:
    warm = AtHand(cluster.anew())
    for together in [[], *changes]:
        for event in together:
            cluster, change = event(cluster)
            warm.snapshot = warm.snapshot.with_changes(change)
        # In other orders, with names that repeat and names of no node; and not after every change.
        for asked in data.draw(st.lists(names, max_size=2)):
            for pod in pods:
                body = orjson.dumps({"Pod": pod, "NodeNames": asked})
                found, wanted = answer(body, warm), answer(body, AtHand(cluster.anew()))
                # The decision refers to a snapshot and a policy.
                assert found._replace(decision=None) == wanted._replace(decision=None)
