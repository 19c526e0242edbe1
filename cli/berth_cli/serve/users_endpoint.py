"""GET /users: as whom the watcher and bind call the API server. `berth doctor` checks the rights of these users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

import orjson

from berth.extender.deadline import Deadline
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.answers import HTTPAnswer, http_answer
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPEvent

ROUTE = "GET /users"

User = Callable[[], Mapping[str, object]]


class UsersOutcome(StrEnum):
    """UNAVAILABLE: the API server did not answer, which says who calls it."""

    OK = "ok"
    UNAVAILABLE = "failure-cluster-unavailable"


class UsersEndpoint(Endpoint):
    """200 with one member for each user, each with `username` and `groups`; 503 while the API server is away."""

    def __init__(self, settings: EndpointSettings, users: Mapping[str, User]) -> None:
        """`users`: each may raise ClusterUnavailable."""
        super().__init__("users", settings)
        self._users = users

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        detail, content = "", {}
        try:
            content = {name: _shown(user()) for name, user in self._users.items()}
        except ClusterUnavailable as error:
            detail = str(error)
        outcome = UsersOutcome.UNAVAILABLE if detail else UsersOutcome.OK
        self._log_ended(outcome, detail, caller, started, failed=bool(detail))
        return http_answer(503, orjson.dumps({"reason": detail})) if detail else http_answer(200, orjson.dumps(content))


def _shown(user: Mapping[str, object]) -> dict[str, object]:
    """Without the UID and the extra fields, which name tokens and pods."""
    return {name: user[name] for name in ("username", "groups") if name in user}
