"""A list of one resource from an API server: pages, restarts, refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pytest

from berth.cluster.api_server.client import CREDENTIALS_REFUSED
from berth.cluster.watch.lister_watcher import KubernetesListerWatcher, WatchOptions
from berth.cluster.watch.resources import NODES, POD_DISRUPTION_BUDGETS, PODS, Resource
from berth.nodecache.feed.cluster import ClusterUnavailable, Listed
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, DrivenApiServer, Exchange, driven_api_server
from tests.unit.cluster.taking import without_managed_fields

Result = TypeVar("Result")

NODES_PATH = "/api/v1/nodes"
TOO_LARGE = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}


@pytest.fixture
def server() -> Iterator[DrivenApiServer]:
    with driven_api_server() as server:
        yield server


@pytest.fixture
def begin() -> Iterator[Callable[[Callable[[], Result]], Future[Result]]]:
    """Yield a function that runs a call in another thread, while the test plays the server."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit


Begin = Callable[[Callable[[], Listed]], "Future[Listed]"]


def source(server: DrivenApiServer, resource: Resource = NODES, **options: int) -> KubernetesListerWatcher:
    return KubernetesListerWatcher(server.api(), resource, WatchOptions(**options), without_managed_fields)


def node(name: str, **metadata: object) -> dict[str, object]:
    return {"metadata": {"name": name, **metadata}}


def test_follows_pages_and_returns_version_of_last_page(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server, page_size=2).list_all)
    first = server.next(NODES_PATH)
    assert first.query == {"limit": "2"}
    first.page(node("a"), node("b"), version="10", following="opaque+/= token")
    second = server.next(NODES_PATH)
    assert second.query == {"limit": "2", "continue": "opaque+/= token"}
    second.page(node("c"), version="10")
    assert listing.result(PATIENCE_SECONDS) == Listed((node("a"), node("b"), node("c")), "10")
    assert first.connection == second.connection


def test_restarts_list_when_continue_token_expires(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server).list_all)
    server.next(NODES_PATH).page(node("a"), version="10", following="token")
    server.next(NODES_PATH).refuse(410, "Expired", "The provided continue parameter is too old")
    again = server.next(NODES_PATH)
    assert "continue" not in again.query
    again.page(node("b"), version="99")
    assert listing.result(PATIENCE_SECONDS) == Listed((node("b"),), "99")


def test_fails_if_the_continue_token_expires_on_every_attempt(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server).list_all)
    for _ in range(3):
        server.next(NODES_PATH).page(version="10", following="token")
        server.next(NODES_PATH).refuse(410, "Expired")
    with pytest.raises(ClusterUnavailable, match="the list of nodes expired between its pages, three times over"):
        listing.result(PATIENCE_SECONDS)


def test_drops_managed_fields(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server).list_all)
    server.next(NODES_PATH).page(node("a", managedFields=[{"manager": "kubelet"}], labels={"b": "c"}), version="1")
    assert listing.result(PATIENCE_SECONDS).objects == (node("a", labels={"b": "c"}),)


def test_skips_unreadable_objects_and_lists_the_rest(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server).list_all)
    server.next(NODES_PATH).page(node("a"), None, ["b"], "c", node("d"), version="1")
    assert listing.result(PATIENCE_SECONDS).objects == (node("a"), node("d"))


def test_reads_null_items_as_an_empty_list(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server).list_all)
    server.next(NODES_PATH).answer(200, {"metadata": {"resourceVersion": "1"}, "items": None})
    assert listing.result(PATIENCE_SECONDS) == Listed((), "1")


@pytest.mark.parametrize("content", [b"<html>log in</html>", b"", b"{}", b"[]", b'{"metadata":{},"items":[]}'])
def test_rejects_response_that_is_not_a_list(server: DrivenApiServer, begin: Begin, content: bytes) -> None:
    listing = begin(source(server).list_all)
    server.next(NODES_PATH).answer_bytes(200, content)
    with pytest.raises(ClusterUnavailable, match="the answer to a list of nodes is none"):
        listing.result(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        pytest.param(
            403,
            "Forbidden",
            "Forbidden; give the watcher's user the verbs list and watch on poddisruptionbudgets.policy",
            id="a verb that is not granted",
        ),
        pytest.param(401, "Unauthorized", f"Unauthorized: {CREDENTIALS_REFUSED}", id="not authenticated"),
        pytest.param(404, "NotFound", "the cluster does not serve poddisruptionbudgets.policy v1", id="disabled API"),
        pytest.param(
            500,
            "InternalError",
            "the API server refused to list poddisruptionbudgets.policy: InternalError",
            id="a server error",
        ),
    ],
)
def test_error_of_a_refused_list_names_the_remedy(
    server: DrivenApiServer, begin: Begin, status: int, reason: str, message: str
) -> None:
    listing = begin(source(server, POD_DISRUPTION_BUDGETS).list_all)
    server.next("/apis/policy/v1/poddisruptionbudgets").refuse(status, reason)
    with pytest.raises(ClusterUnavailable) as caught:
        listing.result(PATIENCE_SECONDS)
    assert str(caught.value) == message


def test_reports_broken_connection(server: DrivenApiServer, begin: Begin) -> None:
    listing = begin(source(server).list_all)
    server.next(NODES_PATH).drop()
    with pytest.raises(ClusterUnavailable, match=f"the connection to {server.host} broke"):
        listing.result(PATIENCE_SECONDS)


def _page(exchange: Exchange) -> None:
    exchange.page(node("a"), version="12")


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        pytest.param(_page, True, id="reached"),
        pytest.param(
            lambda exchange: exchange.refuse(504, "Timeout", "Too large resource version: 7", **TOO_LARGE),
            False,
            id="not reached",
        ),
        pytest.param(
            lambda exchange: exchange.refuse(400, "BadRequest", "invalid resource version"),
            False,
            id="unparseable version",
        ),
        pytest.param(lambda exchange: exchange.refuse(410, "Expired"), False, id="expired version"),
    ],
)
def test_detects_whether_server_has_reached_a_version(
    server: DrivenApiServer, answer: Callable[[Exchange], None], wanted: bool
) -> None:
    nodes = source(server)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(nodes.has_reached, "7")
        exchange = server.next(NODES_PATH)
        assert exchange.query == {"limit": "1", "resourceVersion": "7", "resourceVersionMatch": "NotOlderThan"}
        answer(exchange)
        assert asking.result(PATIENCE_SECONDS) is wanted


def test_overloaded_server_raises_instead_of_reporting_a_lost_version(server: DrivenApiServer) -> None:
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(source(server).has_reached, "7")
        server.next(NODES_PATH).refuse(429, "TooManyRequests")
        with pytest.raises(ClusterUnavailable, match="TooManyRequests"):
            asking.result(PATIENCE_SECONDS)


def test_projects_listed_objects_and_skips_malformed_objects(server: DrivenApiServer, begin: Begin) -> None:
    pods = KubernetesListerWatcher(
        server.api(),
        PODS,
        WatchOptions(),
        lambda pod: {"name": pod["metadata"]["name"]},  # type: ignore[index]
    )
    listing = begin(pods.list_all)
    server.next("/api/v1/pods").page(node("a", labels={"b": "c"}), {"kind": "Pod"}, version="1")
    assert listing.result(PATIENCE_SECONDS).objects == ({"name": "a"},)
