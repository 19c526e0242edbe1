"""Calls Berth at a urlPrefix: measures the calls, and reads the server's certificate and the documents of `berth
serve`."""

from __future__ import annotations

import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import orjson
import urllib3
from cryptography import x509
from pydantic import ValidationError

from berth.cluster.dump_cluster import UID_PREFIX as DUMP_UID_PREFIX
from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.terminal.options import TLSFiles

CALL_SECONDS = 30.0
"""The timeout in seconds for one route of a running server."""

_LOOPBACK = "127.0.0.1"
_SPECIFIC_ERRORS = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.TimeoutError)
_CONNECTION_CLOSED = (ssl.SSLError, ConnectionResetError, HTTPException)


class CredentialsUnreadable(Exception):
    """A credential file or field is invalid. The message names it and does not quote its content."""


class CredentialsMissing(CredentialsUnreadable):
    """A file does not exist on this machine."""


class ServerUnavailable(click.ClickException):
    """The server did not respond with the document. The message states the address and the cause."""


@dataclass(frozen=True, slots=True)
class TLSMaterial:
    """TLS data in PEM; empty if not configured. `server_name`: the expected name in the certificate, by default the
    host of the address."""

    ca: bytes = b""
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    server_name: str = ""

    @classmethod
    def of(cls, files: TLSFiles) -> TLSMaterial:
        """Read the TLS files. Raises CredentialsMissing."""
        ca, certificate, key = (
            b"" if path is None else read_pem(path) for path in (files.ca, files.certificate, files.key)
        )
        return cls(ca, certificate, key)

    def checked(self) -> TLSMaterial:
        """Return this object. Raises CredentialsUnreadable if a certificate is unusable or does not match its key."""
        if self.ca or self.certificate:
            _context(self)
        return self


NO_MATERIAL = TLSMaterial()


def read_pem(path: Path, hint: str = "") -> bytes:
    """Read a file. Raises CredentialsMissing with the hint."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CredentialsMissing(f"{path}: {error.strerror}{hint}") from error


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response with any status. `seconds`: the time until the last byte. `date`: the server's clock from its Date
    header; `requested_at`: the local clock in the middle of the call; both in seconds since the epoch.
    """

    status: int
    body: bytes
    seconds: float
    date: float | None
    requested_at: float


@dataclass(frozen=True, slots=True)
class NoResponse:
    """The call did not get a response. `cause`: a short reason. `connection_closed`: whether a server accepted and
    closed the connection."""

    cause: str
    connection_closed: bool = False


class CertificateProblem(StrEnum):
    """The reason why the server's certificate is rejected."""

    EXPIRED = "has expired"
    NOT_YET_VALID = "is not valid yet"
    OTHER_HOST = "is for another host"
    UNKNOWN_AUTHORITY = "is signed by an untrusted authority"
    OTHER = "is not accepted"


# OpenSSL's X509_V_ERR codes.
_PROBLEMS = {
    9: CertificateProblem.NOT_YET_VALID,
    10: CertificateProblem.EXPIRED,
    **dict.fromkeys((18, 19, 20, 21), CertificateProblem.UNKNOWN_AUTHORITY),
    **dict.fromkeys((62, 64), CertificateProblem.OTHER_HOST),
}


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """The server's certificate. `not_after`: seconds since the epoch. `problem`: None if the certificate is accepted.
    `detail`: OpenSSL's message."""

    not_after: float
    problem: CertificateProblem | None = None
    detail: str = ""


class Endpoint:
    """An address with TLS settings and credentials. Verification is always on. Thread-safe."""

    def __init__(self, url_prefix: str, tls: TLSMaterial, timeout: float) -> None:
        """Prepare the connection. `timeout`: seconds for one call. Raises CredentialsUnreadable."""
        parts = urlsplit(url_prefix)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CredentialsUnreadable(f"{without_credentials(url_prefix)} is not an http or https address")
        self.address = without_credentials(url_prefix).rstrip("/")
        # Names under .localhost mean this machine (RFC 6761), but not every resolver implements this.
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

    def verb(self, name: str, body: bytes) -> HttpResponse | NoResponse:
        """Send a POST below the urlPrefix, as kube-scheduler does (fact 1)."""
        return self._call("POST", f"{self._path}/{name}", body)

    def healthz(self) -> HttpResponse | NoResponse:
        """Send GET /healthz?verbose to the same server."""
        return self.get("healthz?verbose")

    def get(self, name: str) -> HttpResponse | NoResponse:
        """Send a GET for a route next to the urlPrefix."""
        return self._call("GET", f"{self._path.rpartition('/')[0]}/{name}", None)

    def certificate(self) -> ServerCertificate | NoResponse | None:
        """Return the server's certificate; None for plain http."""
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
        """Read the certificate again without verification, for its expiry date. Does not send a request."""
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
        timeout = urllib3.Timeout(total=self._timeout)
        try:
            answer = self._pool.urlopen(
                method, path, body=body, headers=self._headers, redirect=False, retries=False, timeout=timeout
            )
        except urllib3.exceptions.HTTPError as error:
            return _no_response(error)
        seconds = time.perf_counter() - started
        return HttpResponse(answer.status, answer.data, seconds, _date(answer.headers.get("Date")), sent + seconds / 2)


def without_credentials(url: str) -> str:
    """Return the URL without its credentials."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def json_object(answer: HttpResponse | NoResponse) -> Mapping[str, object] | None:
    """Return the JSON object in the body; None for other content."""
    if isinstance(answer, NoResponse):
        return None
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return content if isinstance(content, dict) else None


def running_document(url: str, files: TLSFiles, route: str) -> Mapping[str, Any]:
    """Get a document of `berth serve`, which contains a field with the route's name. Raises ServerUnavailable."""
    try:
        answer = Endpoint(url, TLSMaterial.of(files), CALL_SECONDS).get(route)
    except CredentialsUnreadable as error:
        raise ServerUnavailable(str(error)) from error
    content = json_object(answer) or {}
    if isinstance(answer, NoResponse):
        raise ServerUnavailable(f"{url}: {answer.cause}")
    if answer.status != 200 or route not in content:
        reason = content.get("reason") or "is it a berth serve of this release?"
        raise ServerUnavailable(f"{url}: /{route} answers {answer.status}; {reason}")
    return content


@dataclass(frozen=True, slots=True)
class Subject:
    """A user of the cluster as RBAC identifies it."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunningBerth:
    """The state that Berth reports. `cluster`: the UID of the cluster in the cache; empty if unknown. `configuration`:
    None if unknown. `watcher`, `binder`: the Kubernetes users of watcher and bind; None if unknown. `fallback`: why a
    document other than the applied one is in use; otherwise empty.
    """

    cluster: str = ""
    configuration: BerthConfiguration | None = None
    watcher: Subject | None = None
    binder: Subject | None = None
    fallback: str = ""

    @property
    def is_on_dump(self) -> bool:
        """Whether Berth reads a file instead of an API server."""
        return self.cluster.startswith(DUMP_UID_PREFIX)


UNKNOWN = RunningBerth()


def running_berth(endpoint: Endpoint) -> RunningBerth:
    """Read /healthz?verbose and, from `berth serve`, /users. Fields stay unknown if these calls fail."""
    health, users = json_object(endpoint.healthz()) or {}, json_object(endpoint.get("users")) or {}
    cluster = health.get("cluster")
    return RunningBerth(
        cluster if isinstance(cluster, str) else "",
        _configuration(health.get("configuration")),
        _subject(users.get("watcher")),
        _subject(users.get("binder")),
        str(health.get("configurationFallback") or ""),
    )


def _configuration(document: object) -> BerthConfiguration | None:
    """Parse the document. Return None if it is invalid here, for example because only the server has its plugins."""
    if not isinstance(document, dict):
        return None
    try:
        return ActiveConfiguration.of(BerthConfiguration.model_validate(document)).document
    except (ValidationError, ConfigurationInvalid):
        return None


def _subject(found: object) -> Subject | None:
    """Read the fields of a SelfSubjectReview's userInfo."""
    if not isinstance(found, dict) or not isinstance(found.get("username"), str):
        return None
    return Subject(found["username"], tuple(found.get("groups") or ()))


def _pool(host: str, port: int, context: ssl.SSLContext | None, name: str) -> urllib3.HTTPConnectionPool:
    if context is None:
        return urllib3.HTTPConnectionPool(host, port, maxsize=4)
    # assert_hostname is not used, because urllib3 would then disable the host name check in the shared context.
    return urllib3.HTTPSConnectionPool(host, port, maxsize=4, ssl_context=context, server_hostname=name)


def _context(tls: TLSMaterial) -> ssl.SSLContext:
    """Build a context that trusts the system's root certificates, or only the given CA."""
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
            f"the CA cannot be used, or the client certificate and its unencrypted key, in PEM: {_cause(error)}"
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
    """Return the most specific error in urllib3's chain."""
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
