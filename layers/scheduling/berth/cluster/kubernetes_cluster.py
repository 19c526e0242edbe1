"""A cluster behind an API server: its identity, its watches, the caller's user, and the scheduler's queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from berth.cluster.api_server.client import APPLY, CREDENTIALS_REFUSED, ApiServer
from berth.cluster.field_projection import RequiredFields, projection_id, projections
from berth.cluster.watch.lister_watcher import WATCHERS_REMEDY, WatchOptions
from berth.cluster.watch.watches import watch
from berth.nodecache.feed.cluster import Cluster, ClusterUnavailable, ClusterWatch
from berth.nodecache.feed.head import Position
from berth.scheduling.fields.reading import part
from berth.upkeep.wake_up import SchedulingQueue

NAMESPACE = "kube-system"
TIMEOUT_SECONDS = 10.0

_SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def cluster_uid(api: ApiServer) -> str:
    """Return the UID of the namespace kube-system. Needs the verb `get` on this namespace. Raises ClusterUnavailable. A
    cluster that was restored from a backup of its etcd keeps the UID."""
    answer = api.request("GET", f"/api/v1/namespaces/{NAMESPACE}", timeout=TIMEOUT_SECONDS)
    if answer.status == HTTPStatus.UNAUTHORIZED:
        raise ClusterUnavailable(f"{answer.message}: {CREDENTIALS_REFUSED}")
    if answer.status == HTTPStatus.FORBIDDEN:
        raise ClusterUnavailable(f"{answer.message}; give the watcher's user the verb get on the namespace {NAMESPACE}")
    uid = part(answer.content, "metadata").get("uid")
    if not answer.ok or not isinstance(uid, str) or not uid:
        raise ClusterUnavailable(f"the namespace {NAMESPACE} cannot be read: {answer.message}")
    return uid


def user_info(api: ApiServer, timeout: float) -> Mapping[str, object]:
    """Return the `userInfo` of a SelfSubjectReview: username, groups. `timeout`: seconds. Raises ClusterUnavailable."""
    answer = api.request("POST", _SELF_REVIEWS, body=_REVIEW, timeout=timeout)
    info = part(answer.content, "status").get("userInfo")
    if not answer.ok or not isinstance(info, dict):
        raise ClusterUnavailable(answer.message)
    return info


OPTIONS = WatchOptions(watch_seconds=30)
"""A cluster without writes does not send bookmarks; only the end of a watch shows that the data is current. So the data
gets up to 30 s old, and a little over 60 s at a handover, which ends one watch early and begins another."""

RELIST_SECONDS = 6 * 3600.0
"""A list repairs errors that events do not show, such as a resourceVersion from before etcd was restored from a backup.
The interval limits how long such data lasts, also across handovers. A list is expensive: 150,000 pods are 300 pages and
a gigabyte of JSON."""


@dataclass(frozen=True, slots=True)
class KubernetesCluster(Cluster):
    """A cluster behind an API server. Needs `get` on kube-system, and `list` and `watch` on resources (see
    field_projection). `clock`: returns the seconds since the epoch. `jitter`: see Reflector. `remedy`: the remedy if
    the user may not list or watch a resource; the resource's name is appended. `lists_first`: whether to list even if
    the predecessor has positions, for a periodic watcher: a resumed watch does not show when it has caught up."""

    api: ApiServer
    required: RequiredFields
    clock: Callable[[], float]
    jitter: Callable[[], float]
    remedy: str = WATCHERS_REMEDY
    lists_first: bool = False

    def uid(self) -> str:
        """Return the cluster's UID with the identity of the projection. If either changes, the watcher lists everything
        again: the objects of its predecessor may lack fields after an upgrade or a change of the configuration."""
        return f"{cluster_uid(self.api)}/{projection_id(self.required)}"

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        watches = watch(
            self.api,
            projections(self.required),
            clock=self.clock,
            jitter=self.jitter,
            positions={} if self.lists_first else positions,
            options=OPTIONS,
            relist_seconds=RELIST_SECONDS,
            remedy=self.remedy,
        )
        watches.start()
        return watches


WAKE_NAME = "berth-wake"
_WAKE_SECONDS = 5.0

_WAKE_OBJECT = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{WAKE_NAME}"


class KubernetesObjectQueue(SchedulingQueue):
    """Wakes the scheduling queue by a server-side apply of a CSIStorageCapacity, a kind that the scheduler watches
    (fact 43). Its storage class is unused. Needs `patch` on the object's name, and once `create` if the manifests in
    examples/ were not applied."""

    def __init__(self, api: ApiServer, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock

    def wake(self, waiting: Sequence[str]) -> None:
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": WAKE_NAME, "annotations": {"berth.dev/woken-at": f"{self._clock():.3f}"}},
            "storageClassName": WAKE_NAME,
        }
        query = {"fieldManager": "berth", "force": "true"}
        answer = self._api.request(
            "PATCH", _WAKE_OBJECT, query=query, body=body, content_type=APPLY, timeout=_WAKE_SECONDS
        )
        if not answer.ok:
            raise ClusterUnavailable(
                f"{answer.message}; give the watcher's user the verb patch on csistoragecapacities "
                f"{NAMESPACE}/{WAKE_NAME}, or waiting pods are tried again only after minutes"
            )
