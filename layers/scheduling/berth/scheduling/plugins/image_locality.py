"""ImageLocality: prefers nodes that have the pod's images. Images that many nodes have count more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from berth.scheduling.fields.requests import Images
from berth.scheduling.framework.plugin import MAX_NODE_SCORE, ClusterScore, ClusterScorePlugin
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import DistinctValues, NodeRefs, NodeValues, pick
from berth.scheduling.snapshot.parts import NODES_ONLY
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "ImageLocality"

_MEBIBYTE = 1024 * 1024
_MIN_BYTES = 23 * _MEBIBYTE
_MAX_BYTES_PER_CONTAINER = 1000 * _MEBIBYTE


Sizes = frozenset[tuple[str, int]]
"""The pod's images that are on a node, with their sizes. Nodes with equal images and sizes have the same score."""


@dataclass(frozen=True, slots=True)
class _State(ClusterScore):
    """The state of scoring. times: how often the pod uses each image. spread: the number of nodes that have each image.
    sizes: the distinct `Sizes` of nodes. by_node: the index of each node's `Sizes`."""

    images: Images
    times: Mapping[str, int]
    spread: Mapping[str, int]
    nodes: int
    sizes: DistinctValues[Sizes]
    by_node: NodeValues

    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        if not any(self.spread.values()):
            return [0] * len(candidates)
        numbers = self.by_node.get_or_compute(candidates.positions, snapshot.nodes.by_position, self._number)
        scores = [self._score(sizes) for sizes in self.sizes]
        return list(pick(scores, numbers))

    def _number(self, node: NodeInfo) -> int:
        images = node.images
        return self.sizes.index_of(frozenset((name, images[name]) for name in self.times.keys() & images.keys()))

    def _score(self, sizes: Sizes) -> int:
        present = sum(int(float(size) * (self.spread[name] / self.nodes)) * self.times[name] for name, size in sizes)
        most = _MAX_BYTES_PER_CONTAINER * self.images.containers
        # For a pod without containers, which the API server rejects, the divisor would be negative.
        clipped = min(max(present, _MIN_BYTES), max(most, _MIN_BYTES))
        return MAX_NODE_SCORE * (clipped - _MIN_BYTES) // (most - _MIN_BYTES) if most > _MIN_BYTES else 0

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> _State:
        spread = Counter(self.spread)
        for name in delta.reset:
            before, after = delta.before[name], snapshot.nodes.get(name)
            for node, sign in ((before, -1), (after, 1)):
                for image in () if node is None else self.times.keys() & node.images.keys():
                    spread[image] += sign
        reset = [snapshot.positions[name] for name in delta.reset]
        by_node = self.by_node.carried_over(snapshot.positions.size, reset)
        return _State(self.images, self.times, spread, len(snapshot.nodes), self.sizes, by_node)


class ImageLocality(ClusterScorePlugin):
    """Scores as in kube-scheduler. Images are compared by the names that a node lists."""

    name = NAME
    reads = NODES_ONLY

    def shape(self, pod: Pod) -> Hashable:
        return pod.spec.images

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore:
        times = Counter(pod.spec.images.names)
        spread: Counter[str] = Counter()
        for node in snapshot.nodes.values():
            spread.update(times.keys() & node.images.keys())
        return _State(
            pod.spec.images, times, spread, len(snapshot.nodes), DistinctValues(), NodeValues(snapshot.positions.size)
        )
