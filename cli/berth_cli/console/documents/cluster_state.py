"""The rows of the cluster with their ids, and the changes from one look at it to the next.

Guarantees:
- A node or pod keeps its id while it exists, and no id is used twice.
- A state plus the changes that follow it is the state after them, whatever the source did in between.
- A snapshot costs a comparison of its nodes by identity, the work for the nodes that changed and their pods, and copies
  of two dictionaries.
- A state is never changed: whoever cannot make the next one, or cannot send the changes, still has the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from itertools import count

from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.documents.rows import NO_NODE, NodeRow, PodRow, node_row, pod_row
from berth_cli.console.documents.table import Columns, node_table, pod_table


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What changed: ids of rows that are gone, and rows that are new or different."""

    nodes_gone: tuple[int, ...]
    nodes: tuple[tuple[int, NodeRow], ...]
    pods_gone: tuple[int, ...]
    pods: tuple[tuple[int, PodRow], ...]

    @property
    def are_empty(self) -> bool:
        """Whether the page would show nothing new."""
        return not (self.nodes_gone or self.nodes or self.pods_gone or self.pods)

    def document(self) -> dict[str, object]:
        """For the page."""
        return {
            "nodes": {"gone": list(self.nodes_gone), "changed": node_table(self.nodes)},
            "pods": {"gone": list(self.pods_gone), "changed": pod_table(self.pods)},
        }


NO_CHANGES = RowChanges((), (), (), ())


@dataclass(frozen=True, slots=True)
class _Node:
    """pods: the UIDs of the pods that are on it."""

    id: int
    info: NodeInfo
    row: NodeRow
    pods: frozenset[str]


class ClusterState:
    """Its successors are made by one thread at a time."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._pods: dict[str, tuple[int, PodRow]] = {}
        self._elsewhere: set[str] = set()
        self._ids = count()
        self._counting: Counting | None = None
        self._snapshot: Snapshot | None = None

    def after(self, snapshot: Snapshot, counting: Counting) -> tuple[ClusterState, RowChanges]:
        """The state of this snapshot, and what is different."""
        if snapshot is self._snapshot and counting is self._counting:
            return self, NO_CHANGES
        state = copy(self)
        state._nodes, state._pods = self._nodes.copy(), self._pods.copy()
        return state, state._update(snapshot, counting)

    def _update(self, snapshot: Snapshot, counting: Counting) -> RowChanges:
        recount = counting is not self._counting
        self._snapshot, self._counting = snapshot, counting
        gone = [self._nodes.pop(name) for name in [*self._nodes] if name not in snapshot.nodes]
        earlier = self._elsewhere.union(*(node.pods for node in gone))
        nodes: list[tuple[int, NodeRow]] = []
        seen: dict[str, tuple[Pod, int, bool]] = {}
        for name, info in snapshot.nodes.items():
            known = self._nodes.get(name)
            if known is not None and known.info is info and not recount:
                continue
            row = node_row(info, counting)
            number = next(self._ids) if known is None else known.id
            if known is None or row != known.row:
                nodes.append((number, row))
            if known is not None:
                earlier |= known.pods
            self._nodes[name] = _Node(number, info, row, frozenset(pod.uid for pod in info.pods))
            seen |= {pod.uid: (pod, number, True) for pod in info.pods}
        elsewhere = {uid: (pod, NO_NODE, True) for uid, pod in snapshot.unbound.items()}
        for pods in snapshot.pods_on_unknown_nodes.values():
            elsewhere |= {pod.uid: (pod, NO_NODE, False) for pod in pods}
        self._elsewhere = set(elsewhere)
        seen |= elsewhere
        pods_gone = tuple(self._pods.pop(uid)[0] for uid in earlier if uid not in seen)
        return RowChanges(tuple(node.id for node in gone), tuple(nodes), pods_gone, tuple(self._changed_pods(seen)))

    def _changed_pods(self, seen: Mapping[str, tuple[Pod, int, bool]]) -> Iterator[tuple[int, PodRow]]:
        """seen: by UID, pod, id of its node and whether that is known, where any of them may have changed."""
        for uid, (pod, node, is_known) in seen.items():
            row = pod_row(pod, node, is_known=is_known)
            known = self._pods.get(uid)
            if known is None or known[1] != row:
                number = next(self._ids) if known is None else known[0]
                self._pods[uid] = number, row
                yield number, row

    def nodes(self) -> Columns:
        """All nodes."""
        return node_table((node.id, node.row) for node in self._nodes.values())

    def pods(self) -> Columns:
        """All pods."""
        return pod_table(self._pods.values())
