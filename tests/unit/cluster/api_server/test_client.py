"""One connection to a Kubernetes API server: its requests, and its handling of each kind of failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from kubernetes.client import Configuration

from berth.cluster.api_server.client import MAX_IDLE_SECONDS, ApiServer, ApiServerUnreachable
from tests.builders.certificates import server_tls
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock

PATH = "/api/v1/nodes"


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as kubernetes:
        yield kubernetes


def api_of(host: str, clock: HandDrivenClock | None = None, **settings: Any) -> ApiServer:
    configuration = Configuration()
    configuration.host = host
    for name, value in settings.items():
        setattr(configuration, name, value)
    return ApiServer(configuration, clock or HandDrivenClock())


def get(api: ApiServer, timeout: float = 5.0) -> int:
    return api.request("GET", PATH, timeout=timeout).status


def test_sends_query_and_body_and_decodes_json_answer(kubernetes: KubernetesOnLoopback) -> None:
    answer = api_of(kubernetes.host).request(
        "PATCH", "/apis/x", query={"a": "1 &", "b": "ü"}, body={"k": ["v"]}, content_type="application/x", timeout=5
    )
    assert (answer.status, answer.ok, dict(answer.content)) == (200, True, {"k": ["v"]})
    [request] = kubernetes.requests
    assert (request.query, request.body) == ({"a": "1 &", "b": "ü"}, {"k": ["v"]})
    assert request.headers["Content-Type"] == "application/x"
    assert request.headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        pytest.param({"api_key": {"BearerToken": "Bearer token-1"}}, "Bearer token-1", id="a token"),
        pytest.param({"username": "u", "password": "p"}, "Basic dTpw", id="user and password"),
        pytest.param({}, None, id="no credentials with a client certificate"),
    ],
)
def test_sends_the_authorization_header_of_the_settings(
    kubernetes: KubernetesOnLoopback, settings: dict[str, Any], header: str | None
) -> None:
    get(api_of(kubernetes.host, **settings))
    assert kubernetes.requests[0].headers.get("Authorization") == header


def test_requests_token_for_every_request(kubernetes: KubernetesOnLoopback) -> None:
    configuration = Configuration()
    configuration.host = kubernetes.host
    tokens = iter(["first", "second"])

    def renew(configuration: Configuration) -> None:
        configuration.api_key["BearerToken"] = next(tokens)

    setattr(configuration, "refresh_api_key_hook", renew)  # noqa: B010  its type says None
    api = ApiServer(configuration, HandDrivenClock())
    get(api)
    get(api)
    assert [request.headers["Authorization"] for request in kubernetes.requests] == ["first", "second"]


def test_reuses_connection_for_consecutive_requests(kubernetes: KubernetesOnLoopback) -> None:
    clock = HandDrivenClock()
    api = api_of(kubernetes.host, clock)
    for _ in range(5):
        get(api)
        clock.advance(MAX_IDLE_SECONDS)
    assert len({request.connection for request in kubernetes.requests}) == 1


def test_does_not_reuse_connection_after_30_idle_seconds(kubernetes: KubernetesOnLoopback) -> None:
    """The environment may have been frozen and the socket may be dead: a request on it would hang."""
    clock = HandDrivenClock()
    api = api_of(kubernetes.host, clock)
    get(api)
    clock.advance(30.1)
    get(api)
    first, second = (request.connection for request in kubernetes.requests)
    assert first != second


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 429, 500, 503])
def test_returns_every_status_without_retry(kubernetes: KubernetesOnLoopback, status: int) -> None:
    kubernetes.faults.append(Fault("GET", status, "the server's own words"))
    answer = api_of(kubernetes.host).request("GET", PATH, timeout=5)
    assert (answer.status, answer.ok, answer.message) == (status, False, "the server's own words")
    assert len(kubernetes.requests) == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>a proxy</html>", b"[]", b"null", b'{"message": 7}', b'{"message": ""}'],
    ids=["nothing", "HTML", "a list", "null", "a message that is no text", "an empty message"],
)
def test_describes_response_without_message_by_its_status(kubernetes: KubernetesOnLoopback, content: bytes) -> None:
    kubernetes.faults.append(Fault("GET", 502, raw=content))
    assert api_of(kubernetes.host).request("GET", PATH, timeout=5).message == "the API server answered 502"


def test_reports_broken_connection_as_unreachable_without_retry(kubernetes: KubernetesOnLoopback) -> None:
    kubernetes.faults.append(Fault("GET"))
    with pytest.raises(ApiServerUnreachable, match=f"the connection to {kubernetes.host} broke"):
        get(api_of(kubernetes.host))
    assert len(kubernetes.requests) == 1


def test_reports_timeout_as_unreachable(kubernetes: KubernetesOnLoopback) -> None:
    released = Event()
    kubernetes.faults.append(Fault("GET", held=released))
    with pytest.raises(ApiServerUnreachable) as caught:
        get(api_of(kubernetes.host), timeout=0.1)
    released.set()
    assert str(caught.value) == f"{kubernetes.host} did not answer in time"


def test_names_remedy_if_the_server_does_not_run() -> None:
    with kubernetes_on_loopback() as gone:
        host = gone.host
    with pytest.raises(ApiServerUnreachable) as caught:
        get(api_of(host))
    assert (
        str(caught.value)
        == f"{host} cannot be reached; check the kubeconfig's server or EksCluster, and the network to it"
    )


def test_names_remedy_if_the_host_name_is_unknown() -> None:
    with pytest.raises(ApiServerUnreachable, match="cannot be reached; check the kubeconfig's server"):
        get(api_of("https://no-such-host.invalid"))


def test_returns_redirect_without_following_it(kubernetes: KubernetesOnLoopback) -> None:
    kubernetes.faults.append(Fault("GET", 302, "elsewhere"))
    assert get(api_of(kubernetes.host)) == 302
    assert len(kubernetes.requests) == 1


def test_names_remedy_if_the_certificate_is_not_trusted(tmp_path: Path) -> None:
    server_side, _ = server_tls(tmp_path)
    with kubernetes_on_loopback(server_side) as kubernetes:
        with pytest.raises(ApiServerUnreachable) as caught:
            get(api_of(kubernetes.host))
        assert kubernetes.requests == []
    assert str(caught.value).startswith(
        f"the certificate of {kubernetes.host} is not trusted; set certificate-authority-data in the kubeconfig"
    )


def test_reports_a_server_without_tls(kubernetes: KubernetesOnLoopback) -> None:
    host = kubernetes.host.replace("http://", "https://")
    with pytest.raises(ApiServerUnreachable, match=f"TLS with {host} failed"):
        get(api_of(host))


def test_trusts_certificate_of_configured_authority(tmp_path: Path) -> None:
    server_side, certificate = server_tls(tmp_path)
    with kubernetes_on_loopback(server_side) as kubernetes:
        assert get(api_of(kubernetes.host, ssl_ca_cert=str(certificate))) == 200
