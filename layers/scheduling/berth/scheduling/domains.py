"""Which nodes have a label with a certain value: topology, seen from the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.scheduling.objects.node import NodeInfo


class Domains:
    """Worked out per label key when first asked for. Shared by snapshots between which no node's labels changed."""

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, list[str]]] = {}

    def names_in(self, key: str, value: str, nodes: Mapping[str, NodeInfo]) -> Sequence[str]:
        """The names of the nodes whose label `key` has this value."""
        by_value = self._by_key.get(key)
        if by_value is None:
            by_value = {}
            for name, node in zip(nodes, nodes.values(), strict=True):
                found = node.labels.get(key)
                if found is not None:
                    by_value.setdefault(found, []).append(name)
            self._by_key[key] = by_value
        return by_value.get(value, ())
