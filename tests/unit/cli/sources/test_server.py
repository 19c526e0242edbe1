"""The endpoint against real sockets: responses, certificates and errors; and the document of /healthz?verbose."""

from __future__ import annotations

import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth_cli.sources.server import (
    NO_MATERIAL,
    CertificateProblem,
    CredentialsUnreadable,
    Endpoint,
    HttpResponse,
    NoResponse,
    ServerCertificate,
    TLSMaterial,
    running_berth,
)
from tests.builders.certificates import self_signed
from tests.builders.custom_plugins import FAILS_TO_START, NAMED, installed_plugins
from tests.fakes.api_server import kubernetes_on_loopback

Pair = tuple[Path, Path]
Serve = Callable[[Pair, Path | None], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Yield a function that starts a TLS server; with a client CA, the server accepts only that CA's clients."""
    with ExitStack() as running:

        def start(pair: Pair, client_ca: Path | None) -> str:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*pair)
            if client_ca is not None:
                context.load_verify_locations(client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
            return running.enter_context(kubernetes_on_loopback(context)).host

        yield start


def endpoint(url: str, tls: TLSMaterial = NO_MATERIAL) -> Endpoint:
    return Endpoint(f"{url}/scheduler", tls, timeout=5)


def trusting(pair: Pair, client: Pair | None = None) -> TLSMaterial:
    ca = pair[0].read_bytes()
    return TLSMaterial(ca) if client is None else TLSMaterial(ca, client[0].read_bytes(), client[1].read_bytes())


def test_reads_expiry_of_trusted_certificate(serve: Serve, tmp_path: Path) -> None:
    pair = self_signed(tmp_path, "server")
    found = endpoint(serve(pair, None), trusting(pair)).certificate()
    assert isinstance(found, ServerCertificate)
    assert found.problem is None
    assert found.not_after == pytest.approx(time.time() + 3600, abs=60)


@pytest.mark.parametrize(
    ("host", "ends", "trusted", "problem"),
    [
        pytest.param("127.0.0.1", timedelta(days=-2), True, CertificateProblem.EXPIRED, id="expired"),
        pytest.param("127.0.0.9", timedelta(days=2), True, CertificateProblem.OTHER_HOST, id="another host"),
        pytest.param("127.0.0.1", timedelta(days=2), False, CertificateProblem.UNKNOWN_AUTHORITY, id="untrusted root"),
    ],
)
def test_reports_problem_and_expiry_of_untrusted_certificate(
    host: str, ends: timedelta, trusted: bool, problem: CertificateProblem, serve: Serve, tmp_path: Path
) -> None:
    pair, other = self_signed(tmp_path, "server", host=host, ends=ends), self_signed(tmp_path, "other")
    found = endpoint(serve(pair, None), trusting(pair if trusted else other)).certificate()
    assert isinstance(found, ServerCertificate)
    assert found.problem is problem
    assert found.not_after == pytest.approx(time.time() + ends.total_seconds(), abs=60)


def test_verifies_configured_server_name(serve: Serve, tmp_path: Path) -> None:
    pair = self_signed(tmp_path, "server")
    options = replace(trusting(pair), server_name="berth.example.com")
    found = endpoint(serve(pair, None), options).certificate()
    assert isinstance(found, ServerCertificate)
    assert found.problem is CertificateProblem.OTHER_HOST


def test_call_does_not_disable_host_name_check_of_certificate(serve: Serve, tmp_path: Path) -> None:
    """Checks run concurrently on one endpoint: a call must not change the result of another call."""
    pair = self_signed(tmp_path, "server")
    asked = endpoint(serve(pair, None), replace(trusting(pair), server_name="berth.example.com"))
    assert isinstance(asked.healthz(), NoResponse)
    found = asked.certificate()
    assert isinstance(found, ServerCertificate)
    assert found.problem is CertificateProblem.OTHER_HOST


def test_connects_only_with_a_client_certificate(serve: Serve, tmp_path: Path) -> None:
    pair, client, other = (self_signed(tmp_path, name) for name in ("server", "client", "other"))
    url = serve(pair, client[0])
    assert isinstance(endpoint(url, trusting(pair, client)).healthz(), HttpResponse)
    for shown in (trusting(pair), trusting(pair, other)):
        refused = endpoint(url, shown).healthz()
        assert isinstance(refused, NoResponse)
        assert refused.connection_closed, refused


def test_distinguishes_a_server_without_tls_from_a_missing_server() -> None:
    with kubernetes_on_loopback() as server:
        found = endpoint(server.host.replace("http:", "https:")).certificate()
        assert isinstance(found, NoResponse)
        assert found.cause.startswith("TLS: ")
        assert endpoint(server.host).certificate() is None
    gone = endpoint(server.host).healthz()
    assert gone == NoResponse("connection refused or blocked")


def test_calls_paths_with_the_credentials_in_the_address() -> None:
    with kubernetes_on_loopback() as server:
        asked = Endpoint(server.host.replace("http://", "http://me:p%40@") + "/scheduler/", NO_MATERIAL, timeout=5)
        asked.verb("filter", b"{}")
        asked.healthz()
    assert [(each.method, each.path) for each in server.requests] == [
        ("POST", "/scheduler/filter"),
        ("GET", "/healthz"),
    ]
    assert server.requests[0].headers["Authorization"] == "Basic " + b64encode(b"me:p@").decode()
    assert "p@" not in asked.address


def test_response_has_duration_and_server_clock() -> None:
    with kubernetes_on_loopback() as server:
        found = endpoint(server.host).healthz()
    assert isinstance(found, HttpResponse)
    assert found.seconds > 0
    assert found.date == pytest.approx(found.requested_at, abs=2)


def test_error_for_an_invalid_certificate_does_not_quote_it() -> None:
    with pytest.raises(CredentialsUnreadable) as caught:
        Endpoint("https://berth/scheduler", TLSMaterial(certificate=b"hidden", key=b"hidden"), 5)
    assert "hidden" not in str(caught.value)


class Answers:
    """An endpoint that answers every request with this document."""

    def __init__(self, document: object) -> None:
        self._answer = HttpResponse(200, orjson.dumps(document), 0.0, None, 0.0)

    def healthz(self) -> HttpResponse:
        return self._answer

    def get(self, path: str) -> HttpResponse:
        return self._answer


@pytest.mark.parametrize(
    ("module", "is_known"),
    [pytest.param("", True, id="plugin works locally"), pytest.param(FAILS_TO_START, False, id="plugin fails locally")],
)
def test_configuration_is_unknown_if_its_plugin_is_not_installed(tmp_path: Path, module: str, is_known: bool) -> None:
    with installed_plugins(tmp_path):
        if module:
            (tmp_path / "berth_plugins" / "mine.py").write_text(module)
        endpoint: Any = Answers({"configuration": orjson.loads(NAMED)})
        assert (running_berth(endpoint).configuration is not None) is is_known


@pytest.mark.parametrize(
    ("health", "fallback"),
    [
        pytest.param({"configurationFallback": "version 1 is used instead"}, "version 1 is used instead", id="another"),
        pytest.param({}, "", id="the applied one"),
    ],
)
def test_reports_why_another_document_is_in_use(health: dict[str, str], fallback: str) -> None:
    endpoint: Any = Answers(health)
    assert running_berth(endpoint).fallback == fallback
