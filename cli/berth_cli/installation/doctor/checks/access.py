"""Checks whether calls reach Berth: the certificates of server and client, and the credentials. A cause that blocks all
calls is reported once."""

from __future__ import annotations

from collections.abc import Iterator

from cryptography import x509

from berth_cli.installation.doctor.findings import CheckName, Finding, Result, failed, ok, skipped, warning
from berth_cli.sources.server import (
    CertificateProblem,
    Endpoint,
    HttpResponse,
    NoResponse,
    ServerCertificate,
    TLSMaterial,
)

SERVER, CLIENT = CheckName.SERVER_CERTIFICATE, CheckName.CLIENT_CERTIFICATE
UNAUTHORIZED_STATUSES = (401, 403)
EXPIRY_WARNING_DAYS = 30
DAY = 86400.0
CREDENTIALS_REMEDY = "give the scheduler credentials that Berth accepts: docs/how-to/mutual-tls.md, Rotating"
BLOCKS_ALL = "unless the extender is ignorable, no pod is scheduled"

_REMEDIES = {
    CertificateProblem.EXPIRED: "renew it",
    CertificateProblem.NOT_YET_VALID: "check this machine's clock",
    CertificateProblem.OTHER_HOST: "call Berth by a name in the certificate, or set tlsConfig.serverName",
    CertificateProblem.UNKNOWN_AUTHORITY: "set tlsConfig.caFile or caData to the CA of the server's certificate",
    CertificateProblem.OTHER: "inspect the certificate with: openssl s_client -connect HOST:PORT",
}


def reaches_berth(answer: HttpResponse | NoResponse) -> bool:
    """Return whether a verb's response comes from Berth, even if it is an error."""
    return isinstance(answer, HttpResponse) and answer.status not in UNAUTHORIZED_STATUSES


def check_access(
    endpoint: Endpoint, material: TLSMaterial, answer: HttpResponse | NoResponse, now: float
) -> Iterator[Finding]:
    """Check the connection. `answer`: the response of any verb. `now`: seconds since the epoch."""
    shown = endpoint.certificate()
    found = [
        check_server_certificate(endpoint.address, shown, now),
        *check_client_certificate(material, shown, answer, now),
    ]
    yield from found
    if reaches_berth(answer) or any(each.result is Result.FAILED for each in found):
        return
    if isinstance(answer, NoResponse):
        remedy = f"check whether {endpoint.address} is Berth and whom it authorizes"
        yield failed(CheckName.VERBS, f"{endpoint.address}: {answer.cause}; {BLOCKS_ALL}", remedy)
    else:
        message = f"status {answer.status}, the caller is not authorized; {BLOCKS_ALL}"
        yield failed(CheckName.CREDENTIALS, message, CREDENTIALS_REMEDY)


def check_server_certificate(address: str, shown: ServerCertificate | NoResponse | None, now: float) -> Finding:
    """Verify the server's certificate with the scheduler's CA."""
    match shown:
        case None:
            return skipped(SERVER, "plain http, no certificate")
        case NoResponse(cause, connection_closed):
            if connection_closed:
                return failed(SERVER, f"{address}: {cause}", "check whether Berth listens there")
            return skipped(SERVER, f"not available ({cause})")
        case ServerCertificate(not_after, None):
            return _expiry_finding(SERVER, not_after, now)
        case ServerCertificate(_, problem, detail):
            assert problem is not None
            message = f"the server's certificate {problem} ({detail}): every call fails"
            return failed(SERVER, message, _REMEDIES[problem])


def check_client_certificate(
    material: TLSMaterial,
    shown: ServerCertificate | NoResponse | None,
    answer: HttpResponse | NoResponse,
    now: float,
) -> Iterator[Finding]:
    """Check the expiry date, and whether the server accepts the certificate."""
    is_server_trusted = isinstance(shown, ServerCertificate) and shown.problem is None
    is_rejected = isinstance(answer, NoResponse) and answer.connection_closed and is_server_trusted
    cause = answer.cause if isinstance(answer, NoResponse) else ""
    if not material.certificate:
        if is_rejected:
            # The TLS alert can be lost if the server closes the connection at once.
            yield failed(
                CLIENT,
                f"none configured, and the server closes the connection as if it required one ({cause})",
                "set tlsConfig.certFile and keyFile",
            )
        return
    certificate = x509.load_pem_x509_certificate(material.certificate)
    if is_rejected:
        yield failed(CLIENT, f"the server rejects it ({cause})", "use a certificate of the CA that Berth trusts")
    elif isinstance(answer, HttpResponse) and answer.status in UNAUTHORIZED_STATUSES:
        yield failed(CLIENT, f"not authorized: status {answer.status}", "add its serial to the allow-list")
    else:
        yield _expiry_finding(CLIENT, certificate.not_valid_after_utc.timestamp(), now)


def _expiry_finding(check: CheckName, not_after: float, now: float) -> Finding:
    days = (not_after - now) / DAY
    if days < 0:
        return failed(check, f"expired {-days:.0f} days ago", "renew it")
    if days < EXPIRY_WARNING_DAYS:
        return warning(check, f"expires in {days:.0f} days; every call fails from then on", "renew it")
    return ok(check, f"valid for another {days:.0f} days")
