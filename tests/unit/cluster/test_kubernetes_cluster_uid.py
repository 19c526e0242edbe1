"""Which cluster this is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from berth.cluster.kubernetes_cluster import cluster_uid
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, DrivenApiServer, Exchange, driven_api_server

PATH = "/api/v1/namespaces/kube-system"


@pytest.fixture
def server() -> Iterator[DrivenApiServer]:
    with driven_api_server() as server:
        yield server


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
