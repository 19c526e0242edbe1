"""Which pods' decisions are asked for next: a table has them by pod, and nothing says that there are new ones.

Asked for are the pods that wait, in turn, and the pods that have got a node or are gone, some times after that: a
function writes its record in the background, and what it has not written when it stands still, with its next call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest
from math import inf

from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot

PodName = tuple[str, str]
"""Namespace and name."""

WAITING_SECONDS = 1.0
"""Between two questions for a pod that waits, if there are few of them."""

AFTER_SECONDS = (0.0, 2.0, 10.0, 60.0)
"""After a pod has got a node, or is gone."""

FIRST_PODS = 100
"""Pods with nodes that are asked for at first: those that have not started, then those that started last."""

LEAST_WAITING = 4
"""A question in so many is for a pod that waits, however many pods get nodes."""


class PodRotation:
    """For one thread at a time. Times are of the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._seen: Snapshot | None = None
        self._waiting: dict[PodName, float] = {}  # when it was asked for
        self._changed: dict[PodName, tuple[float, int]] = {}  # when it is due, and how often it was asked for

    def due(self, snapshot: Snapshot, now: float, most: int) -> list[PodName]:
        """The pods to ask for now, at most so many."""
        self._note(snapshot, now)
        changed = sorted((due, name) for name, (due, _) in self._changed.items() if due <= now)
        waiting = sorted((asked, name) for name, asked in self._waiting.items() if asked + WAITING_SECONDS <= now)
        of_changed = [name for _, name in changed[: most - min(len(waiting), most // LEAST_WAITING)]]
        of_waiting = [name for _, name in waiting[: most - len(of_changed)]]
        for name in of_changed:
            self._ask_later(name, now)
        self._waiting |= dict.fromkeys(of_waiting, now)
        return [*of_changed, *of_waiting]

    def _ask_later(self, name: PodName, now: float) -> None:
        _, step = self._changed.pop(name)
        if step + 1 < len(AFTER_SECONDS):
            self._changed[name] = now + AFTER_SECONDS[step + 1] - AFTER_SECONDS[step], step + 1

    def _note(self, snapshot: Snapshot, now: float) -> None:
        seen, self._seen = self._seen, snapshot
        if seen is snapshot:
            return
        changed = _started_last(snapshot) if seen is None else _placed_since(seen, snapshot)
        waiting = {_name(pod) for pod in snapshot.unbound.values()}
        gone = self._waiting.keys() - waiting
        self._waiting = {name: self._waiting.get(name, -WAITING_SECONDS) for name in waiting}
        for name in (*map(_name, changed), *gone):
            self._changed[name] = now + AFTER_SECONDS[0], 0


def _name(pod: Pod) -> PodName:
    return pod.namespace, pod.name


def _started_last(snapshot: Snapshot) -> Iterable[Pod]:
    pods = (pod for node in snapshot.nodes.values() for pod in node.pods)
    return nlargest(FIRST_PODS, pods, key=lambda pod: inf if pod.start_time is None else pod.start_time)


def _placed_since(seen: Snapshot, snapshot: Snapshot) -> Iterator[Pod]:
    """Those that are on a node and were not. Nodes are compared by identity."""
    for name, node in snapshot.nodes.items():
        before = seen.nodes.get(name)
        if before is not node:
            known = () if before is None else {pod.uid for pod in before.pods}
            yield from (pod for pod in node.pods if pod.uid not in known)
