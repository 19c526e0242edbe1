"""GET /users: the users of watcher and bind."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import EndpointSettings
from berth_cli.serve.endpoints.users import User, UsersEndpoint
from tests.builders.events import http_event


def answer(users: Mapping[str, User]) -> tuple[int, object]:
    found = UsersEndpoint(EndpointSettings(), users).handle(http_event(None, "GET /users"))
    return found["statusCode"], orjson.loads(found["body"])


def test_names_users_without_their_tokens_and_pods() -> None:
    info = {"username": "berth-watcher", "uid": "u", "groups": ["system:authenticated"], "extra": {"pod": ["p"]}}
    assert answer({"watcher": lambda: info}) == (
        200,
        {"watcher": {"username": "berth-watcher", "groups": ["system:authenticated"]}},
    )


def test_dump_has_no_users() -> None:
    assert answer({}) == (200, {})


def test_answers_503_while_api_server_is_away() -> None:
    def away() -> Mapping[str, object]:
        raise ClusterUnavailable("the API server cannot be reached")

    assert answer({"watcher": away}) == (503, {"reason": "the API server cannot be reached"})
