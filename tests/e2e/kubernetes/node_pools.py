"""NodePools of Karpenter: the custom resource, as far as it matters here. Nothing adds nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping

from .kubernetes_api import ApiError, KubernetesApi

SERVED_SECONDS = 60
POLL_SECONDS = 0.2


class NodePools:
    """The API serves NodePools until the context exits."""

    _DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    _NAME = "nodepools.karpenter.sh"

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def __enter__(self) -> NodePools:
        names = {"kind": "NodePool", "listKind": "NodePoolList", "plural": "nodepools", "singular": "nodepool"}
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {"group": "karpenter.sh", "names": names, "scope": "Cluster", "versions": [version]}
        self._api.create(self._DEFINITIONS, {"metadata": {"name": self._NAME}, "spec": spec})
        return self

    def __exit__(self, *_: object) -> None:
        self._api.delete(f"{self._DEFINITIONS}/{self._NAME}")

    def create(self, name: str, template: Mapping[str, object]) -> None:
        """As soon as the API server serves the resource."""
        pool = {"kind": "NodePool", "metadata": {"name": name}, "spec": {"template": dict(template)}}
        until = time.monotonic() + SERVED_SECONDS
        while True:
            try:
                self._api.create("/apis/karpenter.sh/v1/nodepools", {"apiVersion": "karpenter.sh/v1", **pool})
                return
            except ApiError as error:
                if error.status != 404 or time.monotonic() > until:
                    raise
                time.sleep(POLL_SECONDS)
