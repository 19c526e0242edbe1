"""Certificates: the server's as the scheduler sees it, and the client's that the scheduler shows."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography import x509

from berth_cli.doctor.access.credentials import TLSMaterial
from berth_cli.doctor.access.endpoint import Answered, Distrust, Endpoint, ServerCertificate, Unanswered
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning

SERVER, CLIENT = CheckName.SERVER_CERTIFICATE, CheckName.CLIENT_CERTIFICATE
SOON_DAYS = 30
DAY = 86400.0

_REMEDIES = {
    Distrust.EXPIRED: "renew it",
    Distrust.NOT_YET_VALID: "see whether this machine's clock is right",
    Distrust.OTHER_HOST: "call Berth by a name that the certificate has, or set tlsConfig.serverName",
    Distrust.UNKNOWN_AUTHORITY: "set tlsConfig.caFile or caData to the authority of the server's certificate",
    Distrust.OTHER: "see the server's certificate with: openssl s_client -connect HOST:PORT",
}


def server_certificate(endpoint: Endpoint, now: float) -> Iterator[Finding]:
    """As whoever trusts what the scheduler trusts. `now` in seconds since the epoch."""
    found = endpoint.certificate()
    if found is None:
        yield skipped(SERVER, "nothing is encrypted")
    elif isinstance(found, Unanswered) and not found.broken_off:
        yield skipped(SERVER, f"it cannot be seen ({found.cause}): see the check {CheckName.VERBS}")
    elif isinstance(found, Unanswered):
        yield failed(SERVER, f"{endpoint.address}: {found.cause}", "see whether it is Berth that listens there")
    elif found.distrust is not None:
        yield failed(
            SERVER,
            f"the server's certificate {found.distrust} ({found.detail}): every call fails",
            _REMEDIES[found.distrust],
        )
    else:
        yield _until(SERVER, found.not_after, now)


def client_certificate(endpoint: Endpoint, material: TLSMaterial, now: float) -> Iterator[Finding]:
    """Its date, and whether the server takes it."""
    answer = endpoint.healthz()
    if not material.certificate:
        if isinstance(answer, Unanswered) and answer.broken_off and _is_trusted(endpoint):
            # Not always a TLS alert: it can be lost when the server closes at once.
            yield failed(
                CLIENT,
                f"there is none, and the server ends the connection as if it wanted one ({answer.cause})",
                "set tlsConfig.certFile and keyFile",
            )
        return
    certificate = x509.load_pem_x509_certificate(material.certificate)
    dated = _until(CLIENT, certificate.not_valid_after_utc.timestamp(), now)
    if isinstance(answer, Unanswered) and answer.broken_off and _is_trusted(endpoint):
        yield failed(
            CLIENT, f"the server does not take it ({answer.cause})", "sign it by the authority that Berth trusts"
        )
    elif isinstance(answer, Answered) and answer.status in (401, 403):
        yield failed(CLIENT, f"it is not let in: status {answer.status}", "put its serial on the allow-list")
    else:
        yield dated


def _is_trusted(endpoint: Endpoint) -> bool:
    """So that what goes wrong afterwards is not the server's certificate."""
    found = endpoint.certificate()
    return isinstance(found, ServerCertificate) and found.distrust is None


def _until(check: CheckName, not_after: float, now: float) -> Finding:
    days = (not_after - now) / DAY
    if days < 0:
        return failed(check, f"expired {-days:.0f} days ago", "renew it")
    if days < SOON_DAYS:
        return warning(check, f"expires in {days:.0f} days: then every call fails", "renew it")
    return ok(check, f"valid for {days:.0f} days more")
