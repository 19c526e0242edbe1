"""Renewal of credentials that the API server no longer accepts."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from kubernetes.client import Configuration

from berth.cluster.api_server.access import Access
from berth.cluster.api_server.client import (
    Answer,
    AnswerStream,
    ApiServer,
    ApiServerUnreachable,
    CredentialsUnavailable,
)
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.builders.certificates import self_signed
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, DrivenApiServer, driven_api_server

PATH = "/api/v1/nodes"


@pytest.fixture
def server() -> Iterator[DrivenApiServer]:
    with driven_api_server() as server:
        yield server


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


class Source:
    """A Configuration with the next of these tokens each time it is asked for one."""

    def __init__(self, server: DrivenApiServer, *tokens: str | Exception) -> None:
        self._server = server
        self._tokens = list(tokens)
        self.asked = 0

    def __call__(self) -> Configuration:
        self.asked += 1
        token = self._tokens.pop(0)
        if isinstance(token, Exception):
            raise token
        return self._server.configuration(api_key={"BearerToken": token})


def get(api: ApiServer) -> Callable[[], Answer]:
    return lambda: api.request("GET", PATH, timeout=PATIENCE_SECONDS)


def test_retries_once_with_fresh_credentials_after_401(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    source = Source(server, "Bearer old", "Bearer new")
    api = ApiServer(Access(source), HandDrivenClock())
    asking = pool.submit(get(api))
    first = server.next(PATH)
    assert first.headers["Authorization"] == "Bearer old"
    first.refuse(401, "Unauthorized")
    second = server.next(PATH)
    assert second.headers["Authorization"] == "Bearer new"
    second.answer(200, {"kind": "NodeList"})
    assert asking.result(PATIENCE_SECONDS) == Answer(200, {"kind": "NodeList"})

    later = pool.submit(get(api))
    third = server.next(PATH)
    assert third.headers["Authorization"] == "Bearer new"
    third.answer(200, {})
    assert later.result(PATIENCE_SECONDS).ok
    assert source.asked == 2


def test_returns_the_second_401(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    source = Source(server, "Bearer old", "Bearer new")
    asking = pool.submit(get(ApiServer(Access(source), HandDrivenClock())))
    server.next(PATH).refuse(401, "Unauthorized", "the first")
    server.next(PATH).refuse(401, "Unauthorized", "the second")
    answer = asking.result(PATIENCE_SECONDS)
    assert (answer.status, answer.message) == (401, "the second")
    assert server.nothing_waits()


@pytest.mark.parametrize("status", [400, 403, 404, 500, 503])
def test_does_not_renew_credentials_after_other_statuses(
    server: DrivenApiServer, pool: ThreadPoolExecutor, status: int
) -> None:
    source = Source(server, "Bearer old")
    asking = pool.submit(get(ApiServer(Access(source), HandDrivenClock())))
    server.next(PATH).refuse(status, "No")
    assert asking.result(PATIENCE_SECONDS).status == status
    assert source.asked == 1


def test_restarts_watch_with_fresh_credentials(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    api = ApiServer(Access(Source(server, "Bearer old", "Bearer new")), HandDrivenClock())
    asking: Future[Any] = pool.submit(lambda: api.stream(PATH, query={"watch": "true"}, silence=PATIENCE_SECONDS))
    server.next(PATH).refuse(401, "Unauthorized")
    again = server.next(PATH)
    assert (again.headers["Authorization"], again.query) == ("Bearer new", {"watch": "true"})
    again.stream().chunk(b"one\ntw").chunk(b"o\n").end()
    stream = asking.result(PATIENCE_SECONDS)
    assert isinstance(stream, AnswerStream)
    with closing(stream):
        assert list(stream) == [b"one", b"two"]


def test_renews_once_if_several_threads_are_rejected(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    source = Source(server, "Bearer old", "Bearer new")
    api = ApiServer(Access(source), HandDrivenClock())
    together = Barrier(3)

    def ask() -> Answer:
        together.wait(PATIENCE_SECONDS)
        return get(api)()

    asking = [pool.submit(ask) for _ in range(3)]
    for refused in [server.next(PATH) for _ in range(3)]:
        refused.refuse(401, "Unauthorized")
    for _ in range(3):
        again = server.next(PATH)
        assert again.headers["Authorization"] == "Bearer new"
        again.answer(200, {})
    assert [each.result(PATIENCE_SECONDS).status for each in asking] == [200, 200, 200]
    assert source.asked == 2


def test_shares_renewed_credentials_among_connections_of_one_user(
    server: DrivenApiServer, pool: ThreadPoolExecutor
) -> None:
    source = Source(server, "Bearer old", "Bearer new")
    api = ApiServer(Access(source), HandDrivenClock())
    separate = api.separate()
    asking = pool.submit(get(api))
    server.next(PATH).refuse(401, "Unauthorized")
    server.next(PATH).answer(200, {})
    asking.result(PATIENCE_SECONDS)
    asking = pool.submit(get(separate))
    exchange = server.next(PATH)
    assert exchange.headers["Authorization"] == "Bearer new"
    exchange.answer(200, {})
    assert asking.result(PATIENCE_SECONDS).ok
    assert source.asked == 2


def test_reports_cause_if_credentials_cannot_be_renewed(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    source = Source(server, "Bearer old", ClusterUnavailable("the kubeconfig secret cannot be read: denied"))
    asking = pool.submit(get(ApiServer(Access(source), HandDrivenClock())))
    server.next(PATH).refuse(401, "Unauthorized")
    with pytest.raises(CredentialsUnavailable, match="the kubeconfig secret cannot be read: denied"):
        asking.result(PATIENCE_SECONDS)


def test_time_limit_covers_both_attempts(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    """bind must respond before the scheduler gives up, even if its credentials must be renewed."""
    clock = HandDrivenClock()
    source = Source(server, "Bearer old", "Bearer new")

    def slow() -> Configuration:
        configuration = source()
        clock.advance(PATIENCE_SECONDS)
        return configuration

    api = ApiServer(Access(slow), clock)
    asking = pool.submit(get(api))
    server.next(PATH).refuse(401, "Unauthorized")
    with pytest.raises(ApiServerUnreachable, match="did not answer in time"):
        asking.result(PATIENCE_SECONDS)
    assert server.nothing_waits()


def test_replaces_connections_when_the_client_certificate_is_renewed(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    certificate, key = self_signed(tmp_path, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_OPTIONAL
    clients = [self_signed(tmp_path, name) for name in ("old", "new")]
    for file, _ in clients:
        context.load_verify_locations(file)
    with driven_api_server(context) as server:
        following = iter(clients)

        def source() -> Configuration:
            cert_file, key_file = next(following)
            return server.configuration(ssl_ca_cert=str(certificate), cert_file=str(cert_file), key_file=str(key_file))

        asking = pool.submit(get(ApiServer(Access(source), HandDrivenClock())))
        first = server.next(PATH)
        assert first.client == "old"
        first.refuse(401, "Unauthorized")
        second = server.next(PATH)
        assert second.client == "new"
        second.answer(200, {})
        assert asking.result(PATIENCE_SECONDS).ok


def test_strips_line_break_after_token(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    asking = pool.submit(get(server.api(api_key={"BearerToken": "Bearer token-1\n"})))
    exchange = server.next(PATH)
    assert exchange.headers["Authorization"] == "Bearer token-1"
    exchange.answer(200, {})
    assert asking.result(PATIENCE_SECONDS).ok


def test_reports_missing_token_file(server: DrivenApiServer) -> None:
    def gone(configuration: Configuration) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/token")

    with pytest.raises(CredentialsUnavailable, match=r"cannot be renewed: .*No such file or directory: '/token'"):
        get(server.api(refresh_api_key_hook=gone))()
    assert server.nothing_waits()
