"""Berth's address as a port: calls with their answers and times, and the server's certificate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of any status. seconds: from the request to the last byte. date: the server's clock, in seconds since
    the epoch, as its Date header tells it; `asked_at` is ours, half way."""

    status: int
    body: bytes
    seconds: float
    date: float | None
    asked_at: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer came; `cause` names why in a few words. broken_off: somebody listened, and ended the connection."""

    cause: str
    broken_off: bool = False


class Distrust(StrEnum):
    """Why a server's certificate is not accepted."""

    EXPIRED = "has expired"
    NOT_YET_VALID = "is not valid yet"
    OTHER_HOST = "is for another host"
    UNKNOWN_AUTHORITY = "is not of an authority that is trusted here"
    OTHER = "is not accepted"


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """not_after: seconds since the epoch. distrust: None where it is accepted. detail: in OpenSSL's words."""

    not_after: float
    distrust: Distrust | None = None
    detail: str = ""


class Endpoint(ABC):
    """One address, with the scheduler's way to verify it and to say who calls."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The urlPrefix without credentials."""

    @abstractmethod
    def verb(self, name: str, body: bytes) -> Answered | Unanswered:
        """POST under the urlPrefix, as kube-scheduler does (fact 1)."""

    @abstractmethod
    def healthz(self) -> Answered | Unanswered:
        """GET /healthz, beside the verbs."""

    @abstractmethod
    def certificate(self) -> ServerCertificate | Unanswered | None:
        """What the server shows; None where nothing is encrypted."""
