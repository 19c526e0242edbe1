"""Which cluster this is: the UID of the namespace kube-system, which lives as long as the cluster does."""

from __future__ import annotations

from berth.cluster.api_server import CREDENTIALS_REFUSED, UNAUTHORIZED, ApiServer, ApiServerUnreachable
from berth.nodecache.cluster import ClusterUnavailable

NAMESPACE = "kube-system"
TIMEOUT_SECONDS = 10.0
_FORBIDDEN = 403


def cluster_uid(api: ApiServer) -> str:
    """Needs the verb `get` on that one namespace. Raises ClusterUnavailable.

    A cluster that was restored from a backup of its etcd is the same one; a new one behind an old name is not.
    """
    try:
        answer = api.request("GET", f"/api/v1/namespaces/{NAMESPACE}", timeout=TIMEOUT_SECONDS)
    except ApiServerUnreachable as error:
        raise ClusterUnavailable(str(error)) from error
    if answer.status == UNAUTHORIZED:
        raise ClusterUnavailable(f"{answer.message}: {CREDENTIALS_REFUSED}")
    if answer.status == _FORBIDDEN:
        raise ClusterUnavailable(f"{answer.message}; give the watcher's user the verb get on the namespace {NAMESPACE}")
    metadata = answer.content.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    if not answer.ok or not isinstance(uid, str) or not uid:
        raise ClusterUnavailable(f"the namespace {NAMESPACE} cannot be read: {answer.message}")
    return uid
