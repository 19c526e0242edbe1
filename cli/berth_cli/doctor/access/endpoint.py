"""The extender's address as a port: calls with responses and times, and the server's certificate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response with any status. `seconds`: until the last byte.

    `date`: the server's clock from its Date header, in seconds since the epoch. `requested_at`: the local clock in
    the middle of the call.
    """

    status: int
    body: bytes
    seconds: float
    date: float | None
    requested_at: float


@dataclass(frozen=True, slots=True)
class NoResponse:
    """The call got no response. `cause`: a short reason. `connection_closed`: a server accepted and closed the
    connection.
    """

    cause: str
    connection_closed: bool = False


class CertificateProblem(StrEnum):
    """Why the server's certificate is rejected."""

    EXPIRED = "has expired"
    NOT_YET_VALID = "is not valid yet"
    OTHER_HOST = "is for another host"
    UNKNOWN_AUTHORITY = "is signed by an untrusted authority"
    OTHER = "is not accepted"


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """`not_after`: seconds since the epoch. `problem`: None if accepted. `detail`: OpenSSL's message."""

    not_after: float
    problem: CertificateProblem | None = None
    detail: str = ""


class Endpoint(ABC):
    """One address, with the scheduler's TLS settings and credentials."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The urlPrefix without credentials."""

    @abstractmethod
    def verb(self, name: str, body: bytes) -> HttpResponse | NoResponse:
        """POST below the urlPrefix, as kube-scheduler calls it (fact 1)."""

    @abstractmethod
    def healthz(self) -> HttpResponse | NoResponse:
        """GET /healthz?verbose on the same server."""

    @abstractmethod
    def get(self, name: str) -> HttpResponse | NoResponse:
        """GET a route that only `berth serve` has, such as `users`."""

    @abstractmethod
    def certificate(self) -> ServerCertificate | NoResponse | None:
        """The server's certificate; None for plain http."""
