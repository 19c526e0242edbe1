"""The endpoint over HTTP or HTTPS. Verification is always on, whatever the scheduler's settings are."""

from __future__ import annotations

import socket
import ssl
import time
from base64 import b64encode
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

import urllib3
from cryptography import x509

from berth_cli.doctor.access.credentials import CredentialsUnreadable, TLSMaterial
from berth_cli.doctor.access.endpoint import CertificateProblem, Endpoint, HttpResponse, NoResponse, ServerCertificate
from berth_cli.doctor.scheduler.scheduler_side import without_credentials

_LOOPBACK = "127.0.0.1"
_SPECIFIC_ERRORS = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.TimeoutError)
_CONNECTION_CLOSED = (ssl.SSLError, ConnectionResetError, HTTPException)
# OpenSSL's X509_V_ERR codes.
_PROBLEMS = {
    9: CertificateProblem.NOT_YET_VALID,
    10: CertificateProblem.EXPIRED,
    18: CertificateProblem.UNKNOWN_AUTHORITY,
    19: CertificateProblem.UNKNOWN_AUTHORITY,
    20: CertificateProblem.UNKNOWN_AUTHORITY,
    21: CertificateProblem.UNKNOWN_AUTHORITY,
    62: CertificateProblem.OTHER_HOST,
    64: CertificateProblem.OTHER_HOST,
}


class HTTPSEndpoint(Endpoint):
    """May be shared between threads."""

    def __init__(self, url_prefix: str, tls: TLSMaterial, timeout: float) -> None:
        """`timeout`: seconds for one call. Raises CredentialsUnreadable."""
        parts = urlsplit(url_prefix)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CredentialsUnreadable(f"{without_credentials(url_prefix)} is not an http or https address")
        self._url_prefix = without_credentials(url_prefix).rstrip("/")
        # Names under .localhost are this machine (RFC 6761); not every resolver implements that.
        self._host = _LOOPBACK if parts.hostname.endswith(".localhost") else parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._name = tls.server_name or parts.hostname
        self._timeout = timeout
        self._path = parts.path.rstrip("/")
        self._context = _context(tls) if parts.scheme == "https" else None
        self._headers = {"Host": parts.netloc.rpartition("@")[2], "Content-Type": "application/json"}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        self._pool = _pool(self._host, self._port, self._context, self._name)

    @property
    def address(self) -> str:
        return self._url_prefix

    def verb(self, name: str, body: bytes) -> HttpResponse | NoResponse:
        return self._call("POST", f"{self._path}/{name}", body)

    def healthz(self) -> HttpResponse | NoResponse:
        return self.get("healthz?verbose")

    def get(self, name: str) -> HttpResponse | NoResponse:
        return self._call("GET", f"{self._path.rpartition('/')[0]}/{name}", None)

    def post(self, name: str, body: bytes) -> HttpResponse | NoResponse:
        """To a route beside the urlPrefix, as get."""
        return self._call("POST", f"{self._path.rpartition('/')[0]}/{name}", body)

    def certificate(self) -> ServerCertificate | NoResponse | None:
        if self._context is None:
            return None
        try:
            return ServerCertificate(self._not_after(self._context))
        except ssl.SSLCertVerificationError as error:
            problem = _PROBLEMS.get(error.verify_code, CertificateProblem.OTHER)
            return self._unverified_certificate(problem, error.verify_message)
        except OSError as error:
            return _no_response(error)

    def _unverified_certificate(self, problem: CertificateProblem, detail: str) -> ServerCertificate | NoResponse:
        """Read the certificate again without verification, for its expiry date. No request is sent."""
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        try:
            return ServerCertificate(self._not_after(unverified), problem, detail)
        except OSError as error:
            return _no_response(error)

    def _not_after(self, context: ssl.SSLContext) -> float:
        with (
            socket.create_connection((self._host, self._port), self._timeout) as plain,
            context.wrap_socket(plain, server_hostname=self._name) as encrypted,
        ):
            der = encrypted.getpeercert(binary_form=True) or b""
        return x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()

    def _call(self, method: str, path: str, body: bytes | None) -> HttpResponse | NoResponse:
        sent, started = time.time(), time.perf_counter()
        try:
            answer = self._pool.urlopen(
                method,
                path,
                body=body,
                headers=self._headers,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(total=self._timeout),
            )
        except urllib3.exceptions.HTTPError as error:
            return _no_response(error)
        seconds = time.perf_counter() - started
        return HttpResponse(answer.status, answer.data, seconds, _date(answer.headers.get("Date")), sent + seconds / 2)


def _pool(host: str, port: int, context: ssl.SSLContext | None, name: str) -> urllib3.HTTPConnectionPool:
    if context is None:
        return urllib3.HTTPConnectionPool(host, port, maxsize=4)
    # Not assert_hostname: urllib3 would then disable the host name check in the shared context.
    return urllib3.HTTPSConnectionPool(host, port, maxsize=4, ssl_context=context, server_hostname=name)


def _context(tls: TLSMaterial) -> ssl.SSLContext:
    """Trusts the system's root certificates, or only the given CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if tls.ca:
            context.load_verify_locations(cadata=tls.ca.decode())
        else:
            context.load_default_certs()
        if tls.certificate:
            # The ssl module reads certificates and keys from files only.
            with TemporaryDirectory() as folder:
                certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
                for path, content in ((certificate, tls.certificate), (key, tls.key)):
                    path.touch(mode=0o600)
                    path.write_bytes(content)
                context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise CredentialsUnreadable(
            f"the CA, the client certificate or its key cannot be used: {_cause(error)}"
        ) from error
    return context


def _date(header: str | None) -> float | None:
    try:
        return None if header is None else parsedate_to_datetime(header).timestamp()
    except ValueError:
        return None


def _no_response(error: Exception) -> NoResponse:
    innermost = _innermost(error)
    return NoResponse(_cause(innermost), isinstance(innermost, _CONNECTION_CLOSED))


def _innermost(error: Exception) -> Exception:
    """The most specific error in urllib3's chain."""
    if isinstance(error, _SPECIFIC_ERRORS) or not isinstance(error, urllib3.exceptions.HTTPError):
        return error
    inner = (getattr(error, "reason", None), *error.args, error.__cause__)
    return next((_innermost(each) for each in inner if isinstance(each, Exception)), error)


def _cause(error: Exception) -> str:
    match error:
        case urllib3.exceptions.NameResolutionError() | socket.gaierror():
            return "unknown host name"
        case urllib3.exceptions.NewConnectionError() | ConnectionRefusedError():
            return "connection refused or blocked"
        case urllib3.exceptions.TimeoutError() | TimeoutError():
            return "no response in time"
        case ssl.SSLError():
            return f"TLS: {(error.reason or str(error)).lower().replace('_', ' ')}"
        case ConnectionResetError() | HTTPException():
            return "the server closed the connection"
        case _:
            return f"{type(error).__name__}: {error}"
