"""Consecutive snapshots in which the assumed pods are on their nodes.

Plugins that look at all nodes need such a snapshot: an assumed pod changes their verdicts on other nodes. Each one
follows the one before it by a delta, so that evaluations are updated and not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from threading import Lock

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import Pod
from berth.scheduling.snapshot.history import PodMoves, SnapshotDelta
from berth.scheduling.snapshot.indexes import PodIndex
from berth.scheduling.snapshot.snapshot import Snapshot


class PlacedPods:
    """Of a warm environment. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last: Snapshot | None = None

    def follow(self, snapshot: Snapshot) -> Snapshot:
        """The same snapshot, whose `with_assumed` follows that of the last call."""
        with self._lock:
            last = self._last
            if last is None and not snapshot.assumed:
                return snapshot
            found = replace(snapshot, placed=_first(snapshot) if last is None else _next(last, snapshot))
            if last is None or last.changed_since(snapshot.base) is None or snapshot.history is last.history:
                # An older snapshot is that of a call that began before another one.
                self._last = found
        return found


def _first(snapshot: Snapshot) -> Snapshot:
    return snapshot.with_assumed


def _next(last: Snapshot, snapshot: Snapshot) -> Snapshot:
    before, delta = last.with_assumed, snapshot.changed_since(last.base)
    if delta is None:
        return _first(snapshot)
    after = snapshot.with_assumed
    now = {name: after.nodes.get(name) for name in {*delta.names, *last.assumed, *snapshot.assumed}}
    moves = [*_moves(before, now, delta.reset)]
    change = SnapshotDelta(
        {name: before.nodes.get(name) for name in now},
        delta.reset,
        (PodMoves.of(moves),) if moves else (),
        after.nodes.positions_among(now),
        delta.relabelled,
    )
    index = PodIndex() if before.pending_pod_index.is_oversized else before.pending_pod_index
    index.record(change, now)
    history = before.history.followed_by(change, len(after.nodes))
    return replace(after, history=history, pending_pod_index=index)


def _moves(before: Snapshot, now: dict[str, NodeInfo | None], reset: Iterable[str]) -> Iterator[tuple[Pod, str]]:
    """Pods that came to nodes, left them or changed there, as they were and as they are."""
    for name in now.keys() - reset:
        earlier, later = _by_uid(before.nodes.get(name)), _by_uid(now[name])
        for uid in earlier.keys() | later.keys():
            if earlier.get(uid) != later.get(uid):
                yield from ((pod, name) for pod in (earlier.get(uid), later.get(uid)) if pod is not None)


def _by_uid(node: NodeInfo | None) -> dict[str, Pod]:
    return {} if node is None else {pod.uid: pod for pod in node.pods}
