"""The object that the watcher patches to wake the scheduling queue."""

from __future__ import annotations

from .kubernetes_api import ApiError, KubernetesApi

PATH = "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities/berth-wake"


class WakeObject:
    """Observes patches of the object by its resourceVersion."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def version(self) -> str:
        """The resourceVersion, which changes with each patch; empty before the first."""
        try:
            version: str = self._api.get(PATH)["metadata"]["resourceVersion"]
        except ApiError as error:
            if error.status != 404:
                raise
            return ""
        return version

    def patches(self, seconds: int) -> int:
        """The number of patches from now on within this time."""
        events = self._api.watch(
            PATH.rpartition("/")[0], {"fieldSelector": "metadata.name=berth-wake"}, seconds=seconds
        )
        return sum(event["type"] in ("ADDED", "MODIFIED") for event in events) - bool(self.version())
