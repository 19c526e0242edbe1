"""GET /users: as whom the watcher and bind call the API server. `berth doctor` checks the rights of these users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import EndpointSettings
from berth_cli.serve.endpoints.document import DocumentEndpoint

ROUTE = "GET /users"

User = Callable[[], Mapping[str, object]]


class UsersOutcome(StrEnum):
    """UNAVAILABLE: the API server did not answer, which says who calls it."""

    OK = "ok"
    UNAVAILABLE = "failure-cluster-unavailable"


class UsersEndpoint(DocumentEndpoint):
    """200 with one member for each user, each with `username` and `groups`; 503 while the API server is away."""

    def __init__(self, settings: EndpointSettings, users: Mapping[str, User]) -> None:
        """`users`: each may raise ClusterUnavailable."""
        super().__init__("users", settings, UsersOutcome.OK, UsersOutcome.UNAVAILABLE, ClusterUnavailable)
        self._users = users

    def _content(self) -> dict[str, object]:
        return {name: _shown(user()) for name, user in self._users.items()}


def _shown(user: Mapping[str, object]) -> dict[str, object]:
    """Without the UID and the extra fields, which name tokens and pods."""
    return {name: user[name] for name in ("username", "groups") if name in user}
