"""As whom an API server knows the caller."""

from __future__ import annotations

from collections.abc import Mapping

from berth.cluster.api_server.client import ApiServer, ApiServerUnreachable
from berth.nodecache.feed.cluster import ClusterUnavailable

_SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def user_info(api: ApiServer, timeout: float) -> Mapping[str, object]:
    """The `userInfo` of a SelfSubjectReview: username, groups. `timeout`: seconds. Raises ClusterUnavailable."""
    try:
        answer = api.request("POST", _SELF_REVIEWS, body=_REVIEW, timeout=timeout)
    except ApiServerUnreachable as error:
        raise ClusterUnavailable(str(error)) from error
    status = answer.content.get("status")
    info = status.get("userInfo") if isinstance(status, dict) else None
    if not answer.ok or not isinstance(info, dict):
        raise ClusterUnavailable(answer.message)
    return info
