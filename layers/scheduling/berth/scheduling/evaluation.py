"""Verdicts remembered per pod shape, so that a warm call costs a dictionary look-up per node.

Plugins read one pod and one node (see framework). So a status or score holds for every pod of the same shape until the
node itself changes. A new snapshot shares the NodeInfo of every node that did not change; what was worked out for those
is carried over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Self

from berth.scheduling.objects import Pod
from berth.scheduling.profile import Profile
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.status import SUCCESS, Status, unresolvable

NOT_IN_CACHE = unresolvable("", "node(s) are not in the extender's cache yet")
"""For a name the cache has never seen: a node that joined a moment ago, or another cluster's."""

MAX_SHAPES = 256


class NodeStatuses(dict[str, Status]):
    """The filter status of each node, worked out when first asked for."""

    def __init__(self, profile: Profile, pod: Pod, snapshot: Snapshot) -> None:
        super().__init__()
        self._profile, self._pod, self._nodes = profile, pod, snapshot.nodes

    def __missing__(self, name: str) -> Status:
        node = self._nodes.get(name)
        if node is None:
            return NOT_IN_CACHE  # not remembered: names come from the request and have no bound
        status = self[name] = self._profile.filter(self._pod, node)
        return status


class NodeScores(dict[str, int]):
    """The score of each node, worked out when first asked for; nodes that are not feasible score 0."""

    def __init__(self, profile: Profile, pod: Pod, snapshot: Snapshot, statuses: NodeStatuses) -> None:
        super().__init__()
        self._profile, self._pod, self._nodes, self._statuses = profile, pod, snapshot.nodes, statuses

    def __missing__(self, name: str) -> int:
        if self._statuses[name] is not SUCCESS:
            return 0
        score = self[name] = self._profile.score(self._pod, self._nodes[name])
        return score


class Evaluation:
    """What a profile says of the nodes of one snapshot for one pod shape."""

    def __init__(self, profile: Profile, pod: Pod, snapshot: Snapshot) -> None:
        self._profile, self._pod, self.snapshot = profile, pod, snapshot
        self.statuses = NodeStatuses(profile, pod, snapshot)
        self.scores = NodeScores(profile, pod, snapshot, self.statuses)

    def carried_to(self, snapshot: Snapshot) -> Self:
        """The same evaluation for a later snapshot, with what still holds."""
        later = type(self)(self._profile, self._pod, snapshot)
        before, after = self.snapshot.nodes, snapshot.nodes
        # Copies: other threads may still be filling this evaluation.
        statuses, scores = self.statuses.copy(), self.scores.copy()
        unchanged = {name for name in statuses if after.get(name) is before[name]}
        later.statuses.update((name, statuses[name]) for name in unchanged)
        later.scores.update((name, scores[name]) for name in unchanged if name in scores)
        return later


class Evaluations:
    """The most recently used evaluations of a warm environment, at most `max_shapes`. Safe to share between threads."""

    def __init__(self, max_shapes: int = MAX_SHAPES) -> None:
        self._by_shape: OrderedDict[Hashable, Evaluation] = OrderedDict()
        self._max_shapes = max_shapes
        self._lock = Lock()

    def of(self, profile: Profile, pod: Pod, snapshot: Snapshot) -> Evaluation:
        """The evaluation of this snapshot for pods shaped like this one."""
        key = (profile.name, profile.shape(pod))
        with self._lock:
            found = self._by_shape.get(key)
            if found is None:
                found = Evaluation(profile, pod, snapshot)
            elif found.snapshot is not snapshot:
                found = found.carried_to(snapshot)
            self._by_shape[key] = found
            self._by_shape.move_to_end(key)
            if len(self._by_shape) > self._max_shapes:
                self._by_shape.popitem(last=False)
        return found
