"""A failure of all calls is reported once, by the responsible check."""

from __future__ import annotations

import pytest

from berth_cli.doctor.access.endpoint import CertificateProblem, HttpResponse, NoResponse, ServerCertificate
from berth_cli.doctor.checks.authentication import AccessFailure, AccessProbe, probe_access
from berth_cli.doctor.checks.verbs import DEFAULT_VERBS
from berth_cli.doctor.findings import CheckName, Result, ok
from tests.fakes.doctor import NOW, FakeEndpoint, answered
from tests.unit.cli.doctor.finding_assertions import expect

UNTRUSTED = ServerCertificate(NOW, CertificateProblem.UNKNOWN_AUTHORITY)
CLOSED = NoResponse("TLS: unknown ca", connection_closed=True)
SILENT = NoResponse("no response in time")


@pytest.mark.parametrize(
    ("answer", "endpoint", "by_certificate", "by"),
    [
        pytest.param(answered({}, 500), FakeEndpoint(), False, None, id="any other status"),
        pytest.param(answered({}, 404), FakeEndpoint(), False, None, id="wrong path"),
        pytest.param(answered({}, 401), FakeEndpoint(), False, "credentials", id="no password, or a wrong one"),
        pytest.param(answered({}, 403), FakeEndpoint(), True, "client-certificate", id="a certificate not on the list"),
        pytest.param(CLOSED, FakeEndpoint(), True, "client-certificate", id="certificate of another CA"),
        pytest.param(CLOSED, FakeEndpoint(shown=UNTRUSTED), True, "server-certificate", id="a server not trusted"),
        pytest.param(CLOSED, FakeEndpoint(shown=SILENT), True, "server-certificate", id="server without certificate"),
        pytest.param(CLOSED, FakeEndpoint(shown=None), False, "verbs", id="connection closed on plain http"),
        pytest.param(SILENT, FakeEndpoint(), False, "verbs", id="no server"),
    ],
)
def test_access_failure_belongs_to_check(
    answer: HttpResponse | NoResponse, endpoint: FakeEndpoint, by_certificate: bool, by: str | None
) -> None:
    endpoint.verbs = {"filter": answer}
    found = probe_access(endpoint, DEFAULT_VERBS, by_certificate=by_certificate)
    assert (found and found.by) == by


def test_probes_once_and_refers_to_responsible_check() -> None:
    looks: list[None] = []

    def look() -> AccessFailure:
        looks.append(None)
        return AccessFailure(CheckName.SERVER_CERTIFICATE, "not trusted")

    access = AccessProbe(look)
    fine = [ok(CheckName.CACHE, "fine")]
    expect(access.run_check(CheckName.CACHE, lambda: fine), "cache", Result.SKIPPED, "see the check server-certificate")
    expect(
        access.run_verbs_check(FakeEndpoint(), lambda: fine),
        "verbs",
        Result.SKIPPED,
        "see the check server-certificate",
    )
    assert len(looks) == 1


def test_runs_check_if_calls_reach_berth() -> None:
    fine = [ok(CheckName.CACHE, "fine")]
    assert AccessProbe(lambda: None).run_check(CheckName.CACHE, lambda: fine) == fine


@pytest.mark.parametrize("by", ["verbs", "credentials"])
def test_verbs_report_failures_without_own_check(by: str) -> None:
    access = AccessProbe(lambda: AccessFailure(CheckName(by), "filter: why"))
    expect(access.run_verbs_check(FakeEndpoint(), list), by, Result.FAILED, "filter: why")
