"""Nodes listed from the Kubernetes API, a page at a time."""

from __future__ import annotations

from berth.cluster.api_server import Answer, ApiServer, ApiServerUnreachable
from berth.nodecache.cluster import ClusterUnavailable, NodeList, Nodes
from berth.scheduling.objects import NodeInfo, read_nodes

PAGE_SIZE = 500
TIMEOUT_SECONDS = 10.0
GONE = 410
_FORBIDDEN = (401, 403)
_RESTARTS = 3


class KubernetesNodes(Nodes):
    """`GET /api/v1/nodes`; needs the verb `list` on nodes."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def list(self) -> NodeList:
        for _ in range(_RESTARTS):
            listed = self._list_once()
            if listed is not None:
                return listed
        raise ClusterUnavailable(
            "the list of nodes expired between its pages, three times over; the API server is overloaded"
        )

    def _list_once(self) -> NodeList | None:
        """None when the continue token expired: the list must start again."""
        nodes: list[NodeInfo] = []
        unreadable = 0
        query = {"limit": str(PAGE_SIZE)}
        while True:
            answer = self._page(query)
            if answer.status == GONE:
                return None
            items = answer.content.get("items", answer)
            if not isinstance(items, list | None):
                # Something else answers under this address. Taken for an empty list it would empty the cache.
                raise ClusterUnavailable("the API server's answer is no NodeList; check the kubeconfig's server")
            readable, nameless = read_nodes(items or ())
            nodes += readable
            unreadable += nameless
            metadata = answer.content.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            following = metadata.get("continue")
            if not following:
                return NodeList(tuple(nodes), str(metadata.get("resourceVersion", "")), unreadable)
            query["continue"] = following

    def _page(self, query: dict[str, str]) -> Answer:
        try:
            answer = self._api.request("GET", "/api/v1/nodes", query=query, timeout=TIMEOUT_SECONDS)
        except ApiServerUnreachable as error:
            raise ClusterUnavailable(str(error)) from error
        if answer.status in _FORBIDDEN:
            raise ClusterUnavailable(f"{answer.message}; give the watcher's user the verb list on nodes")
        if not answer.ok and answer.status != GONE:
            raise ClusterUnavailable(answer.message)
        return answer
