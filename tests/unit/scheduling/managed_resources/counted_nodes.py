"""Nodes whose counted resources come from labels, annotations or allocatable, and their pools."""

from __future__ import annotations

from collections.abc import Mapping

from berth.scheduling.objects import NodeInfo, read_node
from tests.builders.counted import MEMORY

ALIKE = {"name": MEMORY, "devices": {"count": {"nodeLabel": "gpu.count"}, "size": {"nodeLabel": "gpu.memory"}}}
NO_SHARES: Mapping[str, int] = {}


def pools(*sizes: int) -> dict[str, int]:
    return {f"{MEMORY}#{index}": size for index, size in enumerate(sizes) if size}


def node_of(labels: Mapping[str, str], annotations: Mapping[str, str], allocatable: Mapping[str, str]) -> NodeInfo:
    metadata = {"name": "n", "labels": labels, "annotations": annotations}
    found = read_node({"metadata": metadata, "status": {"allocatable": allocatable}})
    assert isinstance(found, NodeInfo)
    return found
