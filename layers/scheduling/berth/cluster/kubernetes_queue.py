"""Waking the scheduler's queue by touching one inert object that the scheduler watches (fact 43)."""

from __future__ import annotations

from collections.abc import Callable

from berth.cluster.api_server import APPLY, ApiServer, ApiServerUnreachable
from berth.nodecache.cluster import ClusterUnavailable, SchedulingQueue

NAMESPACE = "kube-system"
NAME = "berth-wake"
TIMEOUT_SECONDS = 5.0
_PATH = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{NAME}"


class KubernetesSchedulingQueue(SchedulingQueue):
    """Applies a CSIStorageCapacity of a storage class that nobody has; needs `patch` on that one name.

    Where it does not exist yet, server-side apply creates it, which needs `create` once; the manifests in examples/
    make it beforehand.
    """

    def __init__(self, api: ApiServer, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock

    def wake(self) -> None:
        try:
            answer = self._api.request(
                "PATCH",
                _PATH,
                query={"fieldManager": "berth", "force": "true"},
                body={
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "CSIStorageCapacity",
                    "metadata": {"name": NAME, "annotations": {"berth.dev/woken-at": f"{self._clock():.3f}"}},
                    "storageClassName": NAME,
                },
                content_type=APPLY,
                timeout=TIMEOUT_SECONDS,
            )
        except ApiServerUnreachable as error:
            raise ClusterUnavailable(str(error)) from error
        if not answer.ok:
            raise ClusterUnavailable(
                f"{answer.message}; give the watcher's user the verb patch on csistoragecapacities "
                f"{NAMESPACE}/{NAME}, or waiting pods are tried again only after minutes"
            )
