"""A live cluster: its identity, its watched resources, the length of a watch, and when it lists again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from berth.cluster.api_server.client import ApiServer
from berth.cluster.field_projection import RequiredFields
from berth.cluster.kubernetes_cluster import RELIST_SECONDS, KubernetesCluster, cluster_uid
from berth.cluster.watch.resources import BASE_RESOURCES, NODES, SPREAD_RESOURCES, Resource
from berth.cluster.watch.watches import Watches
from berth.nodecache.feed.cluster import ClusterUnavailable, ClusterWatch
from berth.nodecache.feed.head import Position
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, DrivenApiServer, Exchange, driven_api_server
from tests.unit.cluster.taking import Consumer, at_once

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
EVERYTHING = RequiredFields(spreading=True, images=True)


@pytest.fixture
def server() -> Iterator[DrivenApiServer]:
    with driven_api_server() as server:
        yield server


def cluster(
    server: DrivenApiServer, needs: RequiredFields | None = None, clock: HandDrivenClock | None = None
) -> KubernetesCluster:
    clock = clock or HandDrivenClock()
    return KubernetesCluster(ApiServer(server.configuration(), clock), needs or RequiredFields(), clock, at_once)


def uid_of(server: DrivenApiServer, needs: RequiredFields) -> str:
    with ThreadPoolExecutor(1) as thread:
        uid = thread.submit(cluster(server, needs).uid)
        server.next(KUBE_SYSTEM).answer(200, {"metadata": {"name": "kube-system", "uid": "u-1"}})
        return uid.result()


def consumer(watch: ClusterWatch) -> Consumer:
    assert isinstance(watch, Watches)
    return Consumer(watch)


def test_changed_projection_changes_cluster_identity(server: DrivenApiServer) -> None:
    """Objects of another projection lack fields that are needed now, so a watcher must not resume from them."""
    little = uid_of(server, RequiredFields())
    assert little.startswith("u-1/")
    assert uid_of(server, RequiredFields()) == little
    assert len({little, uid_of(server, RequiredFields(images=True)), uid_of(server, EVERYTHING)}) == 3


@pytest.mark.parametrize(
    ("needs", "resources"),
    [
        pytest.param(RequiredFields(), BASE_RESOURCES, id="resources needed by every profile"),
        pytest.param(EVERYTHING, (*BASE_RESOURCES, *SPREAD_RESOURCES), id="additional resources for default spreading"),
    ],
)
def test_lists_needed_resources_and_watches_each_for_half_a_minute(
    server: DrivenApiServer, needs: RequiredFields, resources: tuple[Resource, ...]
) -> None:
    watch = cluster(server, needs).watch({})
    try:
        for resource in resources:
            server.next(resource.path).page(version="5")
        for resource in resources:
            stream = server.next(resource.path)
            assert stream.query["timeoutSeconds"] == "30"
            assert stream.query["allowWatchBookmarks"] == "true"
            stream.stream()
        received = consumer(watch).take(len(resources))
        assert {each.resource for each in received} == {resource.name for resource in resources}
        assert set(watch.positions) == {resource.name for resource in resources}
    finally:
        watch.stop()


def test_resumes_predecessors_positions_unless_the_list_is_too_old(server: DrivenApiServer) -> None:
    clock = HandDrivenClock()
    now = clock()
    positions = {resource.name: Position("7", now, now - 60) for resource in BASE_RESOURCES}
    positions[NODES.name] = Position("7", now, now - RELIST_SECONDS)
    watch = cluster(server, clock=clock).watch(positions)
    try:
        for resource in BASE_RESOURCES:
            first = server.next(resource.path)
            if resource is NODES:
                assert "resourceVersion" not in first.query
                first.page(version="9")
                assert server.next(resource.path).stream().query["watch"] == "true"
            else:
                assert first.query["resourceVersionMatch"] == "NotOlderThan"
                first.page(version="9")
                assert server.next(resource.path).stream().query["resourceVersion"] == "7"
        assert [each.resource for each in consumer(watch).take(1)] == [NODES.name]
    finally:
        watch.stop()


PATH = "/api/v1/namespaces/kube-system"


@pytest.fixture
def asking(server: DrivenApiServer) -> Iterator[Future[str]]:
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(cluster_uid, server.api())


def test_cluster_uid_is_the_uid_of_kube_system(server: DrivenApiServer, asking: Future[str]) -> None:
    server.next(PATH).answer(200, {"metadata": {"name": "kube-system", "uid": "3cfb65b8"}})
    assert asking.result(PATIENCE_SECONDS) == "3cfb65b8"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            lambda exchange: exchange.refuse(403, "Forbidden"),
            "Forbidden; give the watcher's user the verb get on the namespace kube-system",
            id="a verb that is not granted",
        ),
        pytest.param(
            lambda exchange: exchange.refuse(401, "Unauthorized"),
            "Unauthorized: the API server does not accept these credentials",
            id="invalid credentials",
        ),
        pytest.param(
            lambda exchange: exchange.refuse(500, "InternalError", "etcd is away"),
            "the namespace kube-system cannot be read: etcd is away",
            id="a server error",
        ),
        pytest.param(
            lambda exchange: exchange.answer(200, {"metadata": {"uid": ""}}),
            "the namespace kube-system cannot be read: the API server answered 200",
            id="no UID",
        ),
        pytest.param(
            lambda exchange: exchange.answer_bytes(200, b"<html>"),
            "the namespace kube-system cannot be read: the API server answered 200",
            id="missing namespace",
        ),
        pytest.param(lambda exchange: exchange.drop(), "broke", id="a broken connection"),
    ],
)
def test_reports_why_the_uid_is_unknown(
    server: DrivenApiServer, asking: Future[str], answer: Callable[[Exchange], None], message: str
) -> None:
    answer(server.next(PATH))
    with pytest.raises(ClusterUnavailable, match=message):
        asking.result(PATIENCE_SECONDS)
