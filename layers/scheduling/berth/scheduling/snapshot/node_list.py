"""The nodes of a snapshot, by name and by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, ValuesView

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.snapshot.node_positions import NodePositions, picked

NOBODY = NodeInfo("", {})
"""Stands where no node does."""


class NodeList(Mapping[str, NodeInfo]):
    """Never changed. The next one shares the names with it, and so is copied in a third of a dictionary's time."""

    __slots__ = ("_standing", "positions")

    def __init__(self, positions: NodePositions, standing: list[NodeInfo]) -> None:
        """standing: the nodes by their position. Kept, not copied."""
        self.positions, self._standing = positions, standing

    @classmethod
    def of(cls, nodes: Iterable[NodeInfo]) -> NodeList:
        """Of two with one name the later counts."""
        by_name = {node.name: node for node in nodes}
        return cls(NodePositions(by_name), [NOBODY, *by_name.values()])

    @property
    def standing(self) -> list[NodeInfo]:
        """By position. Not to be changed."""
        return self._standing

    def changed(self, changed: Mapping[str, NodeInfo | None]) -> NodeList:
        """With these nodes as they are now; None for one that is gone."""
        positions, standing = self.positions, list(self._standing)
        gone = [name for name, node in changed.items() if node is None and name in self]
        come = [name for name, node in changed.items() if node is not None and name not in self]
        if gone or come:
            for name in gone:
                standing[positions[name]] = NOBODY
            positions = positions.after(gone, come)
            standing += [NOBODY] * (positions.size - len(standing))
        for name, node in changed.items():
            if node is not None:
                standing[positions[name]] = node
        return NodeList(positions, standing)

    def positions_among(self, names: Iterable[str]) -> tuple[int, ...]:
        """Of those that there are."""
        return tuple(self.positions[name] for name in names if name in self)

    def __getitem__(self, name: str) -> NodeInfo:
        return self._standing[self.positions.by_name[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.positions.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.positions.by_name)

    def __len__(self) -> int:
        return len(self.positions.by_name)

    def values(self) -> ValuesView[NodeInfo]:
        """The nodes, at the cost of a list."""
        return _Values(self)


class _Values(ValuesView[NodeInfo]):
    """Mapping's own takes a look-up a name."""

    _mapping: NodeList

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(picked(self._mapping.standing, tuple(self._mapping.positions.by_name.values())))
