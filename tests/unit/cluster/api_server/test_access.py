"""Access to the API server: renewal of rejected credentials, proxies, and client certificates."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import urllib3
from cryptography.hazmat.primitives import serialization
from kubernetes.client import Configuration

from berth.cluster.api_server.access import Access, BearerServer, CertificateServer, authorization, client_context
from berth.cluster.api_server.client import (
    Answer,
    AnswerStream,
    ApiServer,
    ApiServerUnreachable,
    Connections,
    CredentialsUnavailable,
)
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.builders.certificates import self_signed, server_tls
from tests.fakes.api_server import kubernetes_on_loopback
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
    """Returns a Configuration with the next of these tokens on each call, or raises the exception in its place."""

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


def test_returns_the_second_401_without_another_retry(server: DrivenApiServer, pool: ThreadPoolExecutor) -> None:
    source = Source(server, "Bearer old", "Bearer new")
    asking = pool.submit(get(ApiServer(Access(source), HandDrivenClock())))
    server.next(PATH).refuse(401, "Unauthorized", "the first")
    server.next(PATH).refuse(401, "Unauthorized", "the second")
    answer = asking.result(PATIENCE_SECONDS)
    assert (answer.status, answer.message) == (401, "the second")
    assert server.nothing_waits()


@pytest.mark.parametrize("status", [400, 403, 404, 500, 503])
def test_keeps_credentials_after_other_statuses(server: DrivenApiServer, pool: ThreadPoolExecutor, status: int) -> None:
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
    context, certificate = server_tls(tmp_path)
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


PROXY = "http://proxy.example:3128"
NETWORK = "10.0.0.0/8"


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def token() -> str:
    return "token-1"


@pytest.mark.parametrize(
    ("variables", "host", "proxy"),
    [
        pytest.param({}, "https://10.0.0.1", None, id="no proxy"),
        pytest.param({"HTTPS_PROXY": PROXY}, "https://10.0.0.1", PROXY, id="the environment's proxy"),
        pytest.param({"HTTPS_PROXY": PROXY, "NO_PROXY": NETWORK}, "https://10.0.0.1", None, id="a server of NO_PROXY"),
        pytest.param({"HTTPS_PROXY": PROXY, "NO_PROXY": NETWORK}, "https://11.0.0.1", PROXY, id="not of NO_PROXY"),
    ],
)
@pytest.mark.parametrize("as_file", [pytest.param(False, id="PEM"), pytest.param(True, id="file")])
def test_uses_proxy_from_the_environment_and_verifies_the_server(
    no_proxy: pytest.MonkeyPatch, tmp_path: Path, variables: dict[str, str], host: str, proxy: str | None, as_file: bool
) -> None:
    certificate, _ = self_signed(tmp_path, "ca")
    for name, value in variables.items():
        no_proxy.setenv(name, value)
    authority = certificate if as_file else certificate.read_text()
    pool = Connections().pool(BearerServer(host, authority, token))
    given = pool.connection_pool_kw
    assert given["cert_reqs"] == ssl.CERT_REQUIRED
    assert (given.get("ca_certs") if as_file else given.get("ca_cert_data")) == (
        str(certificate) if as_file else certificate.read_text()
    )
    assert (pool.proxy.url if isinstance(pool, urllib3.ProxyManager) and pool.proxy else None) == proxy


@dataclass(frozen=True)
class Texts:
    certificate: str
    key: str

    @classmethod
    def of(cls, directory: Path, name: str) -> Texts:
        certificate, key = self_signed(directory, name)
        return cls(certificate.read_text(), key.read_text())


@pytest.fixture
def user(tmp_path: Path) -> Texts:
    return Texts.of(tmp_path, "user")


@pytest.fixture
def host(tmp_path: Path, user: Texts) -> Iterator[str]:
    """Yield the address of a server that accepts only this user."""
    tls, _ = server_tls(tmp_path)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(cadata=user.certificate)
    with kubernetes_on_loopback(tls) as kubernetes:
        yield kubernetes.host


def _api(host: str, authority: str, user: Texts) -> ApiServer:
    context = client_context(authority, user.certificate, user.key)
    assert context is not None
    server = CertificateServer(host, context)
    assert authorization(server) == {}
    return ApiServer(server, HandDrivenClock())


def test_server_accepts_the_certificate(tmp_path: Path, host: str, user: Texts) -> None:
    api = _api(host, (tmp_path / "server.crt").read_text(), user)
    assert api.request("GET", "/api/v1/nodes", timeout=5).ok


def test_server_rejects_another_certificate(tmp_path: Path, host: str) -> None:
    api = _api(host, (tmp_path / "server.crt").read_text(), Texts.of(tmp_path, "other"))
    with pytest.raises(ApiServerUnreachable):
        api.request("GET", "/api/v1/nodes", timeout=5)


def test_rejects_server_of_another_authority_despite_client_certificate(tmp_path: Path, host: str, user: Texts) -> None:
    api = _api(host, Texts.of(tmp_path, "other").certificate, user)
    with pytest.raises(ApiServerUnreachable, match=r"certificate of .* is not trusted"):
        api.request("GET", "/api/v1/nodes", timeout=5)


def _encrypted(user: Texts) -> str:
    key = serialization.load_pem_private_key(user.key.encode(), None)
    password = serialization.BestAvailableEncryption(b"secret")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, password).decode()


@pytest.mark.parametrize("wrong", ["the key of another", "an encrypted key", "no certificate", "no authority"])
def test_tls_context_is_none_for_an_unusable_certificate_or_key(tmp_path: Path, user: Texts, wrong: str) -> None:
    """Loading an encrypted key must not prompt for its password either."""
    certificate, key, authority = user.certificate, user.key, None
    match wrong:
        case "the key of another":
            key = Texts.of(tmp_path, "other").key
        case "an encrypted key":
            key = _encrypted(user)
        case "no certificate":
            certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
        case _:
            authority = "none"
    assert client_context(authority, certificate, key) is None
