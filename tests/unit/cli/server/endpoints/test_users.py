"""GET /users: the users of watcher and bind."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from berth.configuration.store import Configurations
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import EndpointSettings
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.ledger.claims import ClaimSources
from berth_cli.server.endpoints.state import USERS, User, state_endpoints
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from tests.builders.events import http_event
from tests.fakes.published import PublishedCluster


def answer(users: Mapping[str, User]) -> tuple[int, object]:
    cluster = PublishedCluster()
    configurations = Configurations(InMemoryConfigurationStore(cluster.item), BerthConfiguration)
    sources = ClaimSources(cluster.table, configurations)
    found = state_endpoints(EndpointSettings(), None, None, sources, users)[USERS].handle(http_event(None, USERS))
    return found["statusCode"], orjson.loads(found["body"])


def test_lists_users_without_tokens_and_pods() -> None:
    info = {"username": "berth-watcher", "uid": "u", "groups": ["system:authenticated"], "extra": {"pod": ["p"]}}
    assert answer({"watcher": lambda: info}) == (
        200,
        {"watcher": {"username": "berth-watcher", "groups": ["system:authenticated"]}},
    )


def test_list_is_empty_for_a_dump() -> None:
    assert answer({}) == (200, {})


def test_returns_503_while_the_api_server_is_unavailable() -> None:
    def away() -> Mapping[str, object]:
        raise ClusterUnavailable("the API server cannot be reached")

    assert answer({"watcher": away}) == (503, {"reason": "the API server cannot be reached"})
