"""Certificates of server and client, and credentials: a failure of all calls is reported once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from berth_cli.installation.doctor.checks.access import check_access, check_client_certificate, check_server_certificate
from berth_cli.installation.doctor.findings import Result
from berth_cli.sources.server import (
    NO_MATERIAL,
    CertificateProblem,
    HttpResponse,
    NoResponse,
    ServerCertificate,
    TLSMaterial,
)
from tests.builders.certificates import self_signed
from tests.fakes.doctor import ADDRESS, HEALTHY, NOW, FakeEndpoint, answered
from tests.unit.cli.installation.doctor.finding_assertions import expect

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED
DAY = 86400.0
TRUSTED = ServerCertificate(NOW + 90 * DAY)
ANSWER = answered(HEALTHY)
BROKEN = NoResponse("the server closed the connection", connection_closed=True)


@pytest.mark.parametrize(
    ("shown", "result", "message"),
    [
        pytest.param(ServerCertificate(NOW + 90 * DAY), OK, "valid for another 90 days", id="valid"),
        pytest.param(ServerCertificate(NOW + 5 * DAY), WARNING, "expires in 5 days", id="soon"),
        pytest.param(ServerCertificate(NOW - DAY, CertificateProblem.EXPIRED), FAILED, "has expired", id="expired"),
        pytest.param(ServerCertificate(NOW, CertificateProblem.OTHER_HOST), FAILED, "another host", id="another host"),
        pytest.param(ServerCertificate(NOW, CertificateProblem.UNKNOWN_AUTHORITY), FAILED, "authority", id="no CA"),
        pytest.param(NoResponse("wrong version number", connection_closed=True), FAILED, "wrong version", id="no TLS"),
        pytest.param(NoResponse("connection refused"), SKIPPED, "connection refused", id="no server"),
        pytest.param(None, SKIPPED, "plain http, no certificate", id="http"),
    ],
)
def test_reports_state_of_the_server_certificate(shown: Any, result: Result, message: str) -> None:
    expect([check_server_certificate(ADDRESS, shown, NOW)], "server-certificate", result, message)


@pytest.fixture
def mine(tmp_path: Path) -> TLSMaterial:
    certificate, key = self_signed(tmp_path, "client")
    return TLSMaterial(certificate=certificate.read_bytes(), key=key.read_bytes())


@pytest.mark.parametrize(
    ("answer", "result", "message"),
    [
        pytest.param(answered(HEALTHY), WARNING, "expires in 0 days", id="accepted, expires soon"),
        pytest.param(
            NoResponse("TLS: tlsv1 alert unknown ca", connection_closed=True), FAILED, "unknown ca", id="another CA"
        ),
        pytest.param(answered({}, 403), FAILED, "not authorized", id="not on the list"),
    ],
)
def test_reports_state_of_the_client_certificate(answer: Any, result: Result, message: str, mine: TLSMaterial) -> None:
    found = check_client_certificate(mine, TRUSTED, answer, time.time())
    expect(found, "client-certificate", result, message)


def test_fails_for_expired_client_certificate(mine: TLSMaterial) -> None:
    found = check_client_certificate(mine, TRUSTED, ANSWER, time.time() + DAY)
    expect(found, "client-certificate", FAILED, "expired")


@pytest.mark.parametrize(
    ("shown", "answer", "message"),
    [
        pytest.param(TRUSTED, ANSWER, "", id="not required"),
        pytest.param(TRUSTED, BROKEN, "as if it required one", id="required by server"),
        pytest.param(TRUSTED, NoResponse("no response in time"), "", id="no response"),
        pytest.param(ServerCertificate(NOW, CertificateProblem.EXPIRED), BROKEN, "", id="server certificate expired"),
    ],
)
def test_fails_if_server_requires_client_certificate(
    shown: ServerCertificate, answer: HttpResponse | NoResponse, message: str
) -> None:
    found = list(check_client_certificate(NO_MATERIAL, shown, answer, NOW))
    if message:
        expect(found, "client-certificate", FAILED, message)
    else:
        assert found == []


UNTRUSTED = ServerCertificate(NOW, CertificateProblem.UNKNOWN_AUTHORITY)
CLOSED = NoResponse("TLS: unknown ca", connection_closed=True)
SILENT = NoResponse("no response in time")


@pytest.mark.parametrize(
    ("answer", "shown", "by_certificate", "by"),
    [
        pytest.param(answered({}, 500), TRUSTED, False, [], id="any other status"),
        pytest.param(answered({}, 404), TRUSTED, False, [], id="wrong path"),
        pytest.param(answered({}, 401), TRUSTED, False, ["credentials"], id="no password, or a wrong one"),
        pytest.param(answered({}, 403), TRUSTED, True, ["client-certificate"], id="a certificate not on the list"),
        pytest.param(CLOSED, TRUSTED, True, ["client-certificate"], id="certificate of another CA"),
        pytest.param(CLOSED, UNTRUSTED, False, ["server-certificate"], id="an untrusted server"),
        pytest.param(CLOSED, CLOSED, False, ["server-certificate"], id="server without certificate"),
        pytest.param(CLOSED, None, False, ["verbs"], id="connection closed on plain http"),
        pytest.param(CLOSED, SILENT, False, ["verbs"], id="an unreadable certificate"),
        pytest.param(SILENT, TRUSTED, False, ["verbs"], id="no server"),
    ],
)
def test_reports_a_failure_of_all_calls_only_once(
    answer: HttpResponse | NoResponse,
    shown: ServerCertificate | NoResponse | None,
    by_certificate: bool,
    by: list[str],
    mine: TLSMaterial,
) -> None:
    found = check_access(FakeEndpoint(shown=shown), mine if by_certificate else NO_MATERIAL, answer, NOW)
    assert [each.check for each in found if each.result is FAILED] == by
