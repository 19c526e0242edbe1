"""The server's certificate as the scheduler verifies it, and the scheduler's client certificate."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography import x509

from berth_cli.doctor.access.credentials import TLSMaterial
from berth_cli.doctor.access.endpoint import CertificateProblem, Endpoint, HttpResponse, NoResponse, ServerCertificate
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning

SERVER, CLIENT = CheckName.SERVER_CERTIFICATE, CheckName.CLIENT_CERTIFICATE
EXPIRY_WARNING_DAYS = 30
DAY = 86400.0

_REMEDIES = {
    CertificateProblem.EXPIRED: "renew it",
    CertificateProblem.NOT_YET_VALID: "check this machine's clock",
    CertificateProblem.OTHER_HOST: "call Berth by a name in the certificate, or set tlsConfig.serverName",
    CertificateProblem.UNKNOWN_AUTHORITY: "set tlsConfig.caFile or caData to the CA of the server's certificate",
    CertificateProblem.OTHER: "inspect the certificate with: openssl s_client -connect HOST:PORT",
}


def check_server_certificate(endpoint: Endpoint, now: float) -> Iterator[Finding]:
    """Verify with the scheduler's CA. `now`: seconds since the epoch."""
    found = endpoint.certificate()
    if found is None:
        yield skipped(SERVER, "plain http, no certificate")
    elif isinstance(found, NoResponse) and not found.connection_closed:
        yield skipped(SERVER, f"not available ({found.cause}): see the check {CheckName.VERBS}")
    elif isinstance(found, NoResponse):
        yield failed(SERVER, f"{endpoint.address}: {found.cause}", "check whether Berth listens there")
    elif found.problem is not None:
        yield failed(
            SERVER,
            f"the server's certificate {found.problem} ({found.detail}): every call fails",
            _REMEDIES[found.problem],
        )
    else:
        yield _expiry_finding(SERVER, found.not_after, now)


def check_client_certificate(endpoint: Endpoint, material: TLSMaterial, now: float) -> Iterator[Finding]:
    """The expiry date, and whether the server accepts the certificate."""
    answer = endpoint.healthz()
    if not material.certificate:
        if isinstance(answer, NoResponse) and answer.connection_closed and _is_server_trusted(endpoint):
            # The TLS alert can be lost when the server closes the connection at once.
            yield failed(
                CLIENT,
                f"none configured, and the server closes the connection as if it required one ({answer.cause})",
                "set tlsConfig.certFile and keyFile",
            )
        return
    certificate = x509.load_pem_x509_certificate(material.certificate)
    dated = _expiry_finding(CLIENT, certificate.not_valid_after_utc.timestamp(), now)
    if isinstance(answer, NoResponse) and answer.connection_closed and _is_server_trusted(endpoint):
        yield failed(CLIENT, f"the server rejects it ({answer.cause})", "use a certificate of the CA that Berth trusts")
    elif isinstance(answer, HttpResponse) and answer.status in (401, 403):
        yield failed(CLIENT, f"not authorized: status {answer.status}", "add its serial to the allow-list")
    else:
        yield dated


def _is_server_trusted(endpoint: Endpoint) -> bool:
    """Excludes the server's certificate as the cause of an error."""
    found = endpoint.certificate()
    return isinstance(found, ServerCertificate) and found.problem is None


def _expiry_finding(check: CheckName, not_after: float, now: float) -> Finding:
    days = (not_after - now) / DAY
    if days < 0:
        return failed(check, f"expired {-days:.0f} days ago", "renew it")
    if days < EXPIRY_WARNING_DAYS:
        return warning(check, f"expires in {days:.0f} days; every call fails from then on", "renew it")
    return ok(check, f"valid for another {days:.0f} days")
