"""A cluster for benchmarks: any number of nodes, three in four labelled."""

from __future__ import annotations

from berth.nodecache.cluster import NodeList, Nodes
from berth.scheduling.objects import NodeInfo


def labelled_nodes(count: int) -> tuple[NodeInfo, ...]:
    """Names as long as a cloud's, labels as a managed node has them."""
    return tuple(
        NodeInfo(
            f"ip-10-{index // 256}-{index % 256}-17.eu-central-1.compute.internal",
            {
                "kubernetes.io/hostname": f"ip-10-{index // 256}-{index % 256}-17",
                "kubernetes.io/arch": "arm64",
                "topology.kubernetes.io/zone": f"eu-central-1{'abc'[index % 3]}",
                "node.kubernetes.io/instance-type": "m7g.4xlarge",
                **({} if index % 4 == 3 else {"priority.lixueduan.com": str(index % 4 * 10)}),
            },
        )
        for index in range(count)
    )


class InMemoryNodes(Nodes):
    """Lists the nodes it was given."""

    def __init__(self, nodes: tuple[NodeInfo, ...]) -> None:
        self._nodes = nodes

    def list(self) -> NodeList:
        return NodeList(self._nodes, "1")
