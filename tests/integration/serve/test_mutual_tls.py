"""Mutual TLS on this machine, with certificates of `berth certificates`: accepted and rejected callers."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from berth.authentication.authorizer import MAX_AGE_SECONDS
from berth.extender.filter import answer_filter, failed
from berth.lease.clock import SystemClock
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.certificate_directory import CertificateDirectory, IssuedCertificate
from berth_cli.server import local_stack
from berth_cli.server.gateway import Gateway
from berth_cli.server.http import server
from berth_cli.server.http.tls import TLS
from tests.builders.certificates import self_signed
from tests.builders.http_calls import Response
from tests.builders.nodes import labelled
from tests.builders.requests import body_of, cache_mode
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import Verbs

DAY = timedelta(days=1)
DUMP = Path(__file__).resolve().parents[3] / "events" / "cluster.yaml"
REQUEST = body_of(cache_mode(["n10"]))
# A client may receive the refusal, or find the connection closed while it is still sending.
REFUSED = (ssl.SSLError, ConnectionError)


class AheadClock(SystemClock):
    def __init__(self) -> None:
        self.ahead = 0.0

    def wall(self) -> float:
        return super().wall() + self.ahead


@dataclass(frozen=True)
class Client:
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Served:
    """A server on loopback, and the directory of its clients' certificates."""

    port: int
    server_certificate: Path
    directory: CertificateDirectory
    clock: AheadClock

    def issue(
        self, name: str, *, at: datetime | None = None, lifetime: timedelta = DAY
    ) -> tuple[IssuedCertificate, Client]:
        issued = self.directory.issue(name, at or datetime.now(UTC), lifetime)
        return issued, self.client(issued)

    def client(self, issued: IssuedCertificate) -> Client:
        return Client(*self.directory.files(issued))

    def connect(self, client: Client | None) -> HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.server_certificate))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the server of the test is no strict authority
        if client is not None:
            context.load_cert_chain(client.certificate, client.key)
        return HTTPSConnection("127.0.0.1", self.port, timeout=10, context=context)

    def post(self, client: Client | None) -> Response:
        with closing(self.connect(client)) as connection:
            return ask(connection)

    def forget(self) -> None:
        """Let the allow-list in the function's memory expire."""
        self.clock.ahead += MAX_AGE_SECONDS


def ask(connection: HTTPSConnection) -> Response:
    connection.request("POST", "/scheduler/filter", REQUEST, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return Response(response.status, dict(response.getheaders()), response.read())


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    certificate, key = self_signed(tmp_path, "server")
    directory, clock = CertificateDirectory(tmp_path / "certificates"), AheadClock()
    directory.create("my-cluster", datetime.now(UTC) - 30 * DAY, 365 * DAY)
    settings = EndpointSettings.from_environ(
        {"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(directory.allow_list_file)}
    )
    answer = partial(answer_filter, cache=Verbs([labelled("n10", "10")]).cache)
    endpoint = VerbEndpoint("filter", settings, answer, failed, clock=clock)
    gateway = Gateway({"POST /scheduler/filter": lambda event, _: endpoint.handle(event)}, wall=clock.wall)
    listener = server.listen("127.0.0.1", 0)
    with server.serve_in_thread(gateway, listener, TLS(certificate, key, directory.authority_file)):
        yield Served(listener.getsockname()[1], certificate, directory, clock)


def test_accepts_certificate_on_allow_list(served: Served) -> None:
    _, client = served.issue("scheduler")
    response = served.post(client)
    assert (response.status, response.json["NodeNames"]) == (200, ["n10"])


@pytest.mark.parametrize("presented", ["nothing", "other authority", "expired", "authority itself"])
def test_rejects_handshake_without_valid_client_certificate(
    served: Served, tmp_path: Path, log_lines: LogLines, presented: str
) -> None:
    """A client's name does not matter. The authority is trusted, but its own certificate is not for clients."""
    other = CertificateDirectory(tmp_path / "other")
    other.create("my-cluster", datetime.now(UTC), 365 * DAY)
    client = {
        "nothing": None,
        "other authority": Client(*other.files(other.issue("scheduler", datetime.now(UTC), DAY))),
        "expired": served.issue("scheduler", at=datetime.now(UTC) - 2 * DAY)[1],
        "authority itself": Client(served.directory.authority_file, served.directory.authority_key_file),
    }[presented]
    with pytest.raises(REFUSED):
        served.post(client)
    assert log_lines.all() == []


def test_revoked_certificate_returns_403(served: Served, log_lines: LogLines) -> None:
    issued, client = served.issue("scheduler")
    assert served.post(client).status == 200
    served.directory.revoke("scheduler", datetime.now(UTC))
    served.forget()
    response = served.post(client)
    assert (response.status, response.json) == (403, {"message": "Forbidden"})
    assert [(line["verb"], line["outcome"]) for line in log_lines.all()] == [
        ("filter", "feasible"),
        ("authorizer", "denied-not-listed"),
    ]
    allowed, denied = log_lines.all()
    assert issued.serial in allowed["caller"]
    assert issued.serial in denied["detail"]


@pytest.mark.parametrize("ends", ["revoked", "expired"])
def test_open_connection_rejects_a_revoked_or_expired_certificate(served: Served, ends: str) -> None:
    _, client = served.issue("scheduler")
    with closing(served.connect(client)) as connection:
        assert ask(connection).status == 200
        if ends == "revoked":
            served.directory.revoke("scheduler", datetime.now(UTC))
            served.forget()
        else:
            served.clock.ahead += DAY.total_seconds()
        assert ask(connection).status == 403


def test_every_route_rejects_a_revoked_certificate(served: Served, stack: object) -> None:
    before = os.environ.copy()
    try:
        own = local_stack.start(
            BerthConfiguration(), local_stack.dump_environment(DUMP), allow_list=served.directory.allow_list_file
        )
    finally:
        os.environ.clear()
        os.environ.update(before)
    _, client = served.issue("scheduler")
    served.directory.revoke("scheduler", datetime.now(UTC))
    listener = server.listen("127.0.0.1", 0)
    tls = TLS(served.server_certificate, served.server_certificate.with_suffix(".key"), served.directory.authority_file)
    with server.serve_in_thread(own.gateway, listener, tls):
        connection = Served(
            listener.getsockname()[1], served.server_certificate, served.directory, AheadClock()
        ).connect(client)
        for method, path in [
            *(("POST", f"/scheduler/{verb}") for verb in ("filter", "filter_onlyone", "prioritize", "bind", "preempt")),
            ("GET", "/healthz"),
        ]:
            connection.request(method, path, REQUEST, {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert (response.status, response.read()) == (403, b'{"message":"Forbidden"}')
        connection.close()
