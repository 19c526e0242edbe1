"""The checks of encryption, verification and passwords."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.doctor.checks.scheduler import check_document, check_extenders
from berth_cli.doctor.checks.transport import check_transport
from berth_cli.doctor.findings import Finding, Result
from tests.fakes.doctor import ADDRESS
from tests.unit.cli.doctor.finding_assertions import expect
from tests.unit.cli.doctor.scheduler_documents import document, side

FAILED, WARNING, OK = Result.FAILED, Result.WARNING, Result.OK


def findings(found: dict[str, Any], address: str = ADDRESS) -> list[Finding]:
    """Of everything that reads the configuration."""
    read = side(found, address)
    return [*check_document(read, address), *check_extenders(read), *check_transport(read)]


@pytest.mark.parametrize(
    ("entry", "check", "result", "message"),
    [
        pytest.param({"enableHTTPS": True}, "verification", FAILED, "disables the verification", id="fact 36"),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"certFile": "a", "keyFile": "b"}},
            "verification",
            FAILED,
            "disables the verification",
            id="fact 36 with a client certificate",
        ),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"caFile": "ca"}}, "verification", OK, "tlsConfig's CA", id="with a CA"
        ),
        pytest.param({"tlsConfig": {"insecure": True}}, "verification", FAILED, "can impersonate Berth", id="insecure"),
        pytest.param(
            {"tlsConfig": {"certFile": "a"}}, "tlsConfig", FAILED, "without its key", id="certificate without key"
        ),
        pytest.param({"urlPrefix": "http://berth/scheduler"}, "urlPrefix", WARNING, "http", id="plain http"),
        pytest.param({"urlPrefix": "http://127.0.0.1/scheduler"}, "urlPrefix", OK, "loopback only", id="loopback http"),
        pytest.param(
            {"urlPrefix": "http://127.0.0.1/scheduler", "enableHTTPS": True},
            "urlPrefix",
            FAILED,
            "nothing is encrypted (fact 36)",
            id="enableHTTPS does not change the scheme",
        ),
        pytest.param(
            {"urlPrefix": "https://u:hidden@berth/scheduler"}, "credentials", WARNING, "fact 37", id="a password"
        ),
        pytest.param(
            {"urlPrefix": "https://u:BERTH_PASSWORD@berth/scheduler"},
            "credentials",
            FAILED,
            "in place of the password",
            id="the placeholder",
        ),
    ],
)
def test_reports_extender_field(entry: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = findings(document(**entry), str(entry.get("urlPrefix", ADDRESS)))
    expect(found, check, result, message)
    assert "hidden" not in str(found)
