"""The checks of the server's and the client's certificate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from berth_cli.doctor.access.credentials import NO_MATERIAL, TLSMaterial
from berth_cli.doctor.access.endpoint import CertificateProblem, NoResponse, ServerCertificate
from berth_cli.doctor.checks.certificates import check_client_certificate, check_server_certificate
from berth_cli.doctor.findings import Result
from tests.builders.certificates import self_signed
from tests.fakes.doctor import HEALTHY, NOW, FakeEndpoint, answered
from tests.unit.cli.doctor.finding_assertions import expect

FAILED, WARNING, OK, SKIPPED = Result.FAILED, Result.WARNING, Result.OK, Result.SKIPPED
DAY = 86400.0
BROKEN = NoResponse("the server closed the connection", connection_closed=True)


@pytest.mark.parametrize(
    ("shown", "result", "message"),
    [
        pytest.param(ServerCertificate(NOW + 90 * DAY), OK, "valid for another 90 days", id="valid"),
        pytest.param(ServerCertificate(NOW + 5 * DAY), WARNING, "expires in 5 days", id="soon"),
        pytest.param(ServerCertificate(NOW - DAY, CertificateProblem.EXPIRED), FAILED, "has expired", id="expired"),
        pytest.param(ServerCertificate(NOW, CertificateProblem.OTHER_HOST), FAILED, "another host", id="another host"),
        pytest.param(
            ServerCertificate(NOW, CertificateProblem.UNKNOWN_AUTHORITY), FAILED, "authority", id="no CA for it"
        ),
        pytest.param(
            NoResponse("wrong version number", connection_closed=True), FAILED, "wrong version", id="no TLS there"
        ),
        pytest.param(NoResponse("connection refused"), SKIPPED, "see the check verbs", id="no server"),
        pytest.param(None, SKIPPED, "plain http, no certificate", id="http"),
    ],
)
def test_reports_server_certificate(shown: Any, result: Result, message: str) -> None:
    expect(check_server_certificate(FakeEndpoint(shown=shown), NOW), "server-certificate", result, message)


@pytest.fixture
def mine(tmp_path: Path) -> TLSMaterial:
    certificate, key = self_signed(tmp_path, "client")
    return TLSMaterial(certificate=certificate.read_bytes(), key=key.read_bytes())


@pytest.mark.parametrize(
    ("health", "result", "message"),
    [
        pytest.param(answered(HEALTHY), WARNING, "expires in 0 days", id="accepted, expires soon"),
        pytest.param(
            NoResponse("TLS: tlsv1 alert unknown ca", connection_closed=True),
            FAILED,
            "unknown ca",
            id="another CA",
        ),
        pytest.param(answered({}, 403), FAILED, "not authorized", id="not on the list"),
    ],
)
def test_reports_client_certificate(health: Any, result: Result, message: str, mine: TLSMaterial) -> None:
    expect(
        check_client_certificate(FakeEndpoint(health=health), mine, time.time()), "client-certificate", result, message
    )


def test_fails_for_expired_client_certificate(mine: TLSMaterial) -> None:
    expect(check_client_certificate(FakeEndpoint(), mine, time.time() + DAY), "client-certificate", FAILED, "expired")


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        pytest.param(FakeEndpoint(), "", id="not required"),
        pytest.param(FakeEndpoint(health=BROKEN), "as if it required one", id="required by server"),
        pytest.param(FakeEndpoint(health=NoResponse("no response in time")), "", id="no response"),
        pytest.param(
            FakeEndpoint(health=BROKEN, shown=ServerCertificate(NOW, CertificateProblem.EXPIRED)),
            "",
            id="server certificate expired",
        ),
    ],
)
def test_fails_if_server_requires_client_certificate(endpoint: FakeEndpoint, message: str) -> None:
    found = list(check_client_certificate(endpoint, NO_MATERIAL, NOW))
    if message:
        expect(found, "client-certificate", FAILED, message)
    else:
        assert found == []
