"""The cluster at one moment: what every decision of a call reads, and nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from berth.scheduling.objects import NodeInfo


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Immutable and shared between calls. Compared by identity: two lists of equal nodes are two moments."""

    nodes: Mapping[str, NodeInfo]

    @classmethod
    def of(cls, nodes: Iterable[NodeInfo]) -> Snapshot:
        """The snapshot of these nodes; of two with one name the later counts."""
        return cls(MappingProxyType({node.name: node for node in nodes}))

    def sharing(self, earlier: Snapshot | None) -> Snapshot:
        """The same snapshot with the NodeInfo objects of an earlier one where nothing changed.

        What was remembered for those nodes stays valid (see evaluation).
        """
        if earlier is None:
            return self
        return Snapshot.of(
            before if (before := earlier.nodes.get(node.name)) == node else node for node in self.nodes.values()
        )
