"""PodTopologySpread, score: topology values with fewer matching pods are better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.framework.plugin import MAX_NODE_SCORE, ClusterScore
from berth.scheduling.objects import NodeInfo
from berth.scheduling.plugins.pod_topology_spread.spread import HOSTNAME, Spread
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import DistinctValues, NodeRefs, NodeValues
from berth.scheduling.snapshot.snapshot import Snapshot

Place = tuple[str | int | None, ...]
"""The values of a node that determine its score, by constraint: the topology value, or the number of pods on the node
if the topology key is the hostname; None if the label is missing. Nodes with equal places have the same score."""

IGNORED: Place = ()


@dataclass(frozen=True, slots=True)
class State(ClusterScore):
    """The state of scoring. pods: the number of pods, by constraint and topology value. places: the distinct places.
    by_node: the index of each node's place."""

    spread: Spread
    pods: tuple[Mapping[str, int], ...]
    places: DistinctValues[Place]
    by_node: NodeValues

    @classmethod
    def of(cls, spread: Spread, snapshot: Snapshot) -> State:
        pods: list[dict[str, int]] = [defaultdict(int) for _ in spread.constraints]
        spread.classify(snapshot)
        for node in snapshot.nodes.values() if spread.constraints else ():
            for index, value, number in spread.domains(node, classified=True):
                pods[index][value] += number
        return cls(spread, tuple(pods), DistinctValues(), NodeValues(snapshot.positions.size))

    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        if not self.spread.constraints:
            return [0] * len(candidates)
        numbers = self.by_node.get_or_compute(
            candidates.positions, snapshot.nodes.by_position, lambda node: self.places.index_of(self._place(node))
        )
        places = tuple(self.places)
        raw = self._raw({number: places[number] for number in set(numbers)}, numbers)
        by_number = self._normalized(raw)
        return list(map(by_number.__getitem__, numbers))

    def _place(self, node: NodeInfo) -> Place:
        spread = self.spread
        if spread.requires_all and not spread.covers(node):
            return IGNORED
        place: list[str | int | None] = []
        for index, each in enumerate(spread.constraints):
            value = node.labels.get(each.topology_key)
            if value is not None and each.topology_key == HOSTNAME:
                # The node's label sets are classified already, with the whole snapshot or with a later delta.
                place.append(spread.count(index, node, classified=True))
            else:
                place.append(value)
        return tuple(place)

    def _raw(self, places: Mapping[int, Place], numbers: Sequence[int]) -> dict[int, int | None]:
        """Return the raw score of each place, by its number. More pods and more domains raise the score. The score of
        IGNORED is None."""
        counted = {number: place for number, place in places.items() if place}
        candidates = len(numbers) - sum(numbers.count(number) for number in places.keys() - counted.keys())
        weights = []
        for index, each in enumerate(self.spread.constraints):
            own = each.topology_key == HOSTNAME
            size = candidates if own else len({place[index] or "" for place in counted.values()})
            weights.append(math.log(size + 2))
        raw: dict[int, int | None] = dict.fromkeys(places)
        for number, place in counted.items():
            total = 0.0
            for index, (value, weight) in enumerate(zip(place, weights, strict=True)):
                if value is None:
                    continue
                pods = value if isinstance(value, int) else self.pods[index].get(value, 0)
                total += float(pods) * weight + float(self.spread.constraints[index].max_skew - 1)
            raw[number] = math.floor(total + 0.5)
        return raw

    def _normalized(self, raw: Mapping[int, int | None]) -> dict[int, int]:
        """Reverse the scores, so that the lowest becomes the best. Ignored nodes get 0."""
        counted = [score for score in raw.values() if score is not None]
        highest, lowest = max((0, *counted)), min(counted, default=0)
        if not highest:
            return {number: 0 if score is None else MAX_NODE_SCORE for number, score in raw.items()}
        return {
            number: 0 if score is None else MAX_NODE_SCORE * (highest + lowest - score) // highest
            for number, score in raw.items()
        }

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> State:
        spread = self.spread.at(snapshot)
        if spread.constraints != self.spread.constraints or spread.counts_nodes is not self.spread.counts_nodes:
            return State.of(spread, snapshot)
        names = spread.affected_nodes(delta, snapshot)
        by_node = self.by_node.carried_over(snapshot.positions.size, [snapshot.positions[name] for name in names])
        if not names:
            return State(spread, self.pods, self.places, by_node)
        changes, _ = spread.changes(names, delta, snapshot)
        pods = tuple(
            {**counts, **{value: counts.get(value, 0) + number for value, number in more.items()}}
            if any(more.values())
            else counts
            for counts, more in zip(self.pods, changes, strict=True)
        )
        return State(spread, pods, self.places, by_node)
