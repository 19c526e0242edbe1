"""The outcomes of the authorizer, as log field and metric dimension."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Authentication(StrEnum):
    """How callers authenticate. BASIC: a password in the urlPrefix, for evaluation. MTLS: a client certificate."""

    BASIC = "basic"
    MTLS = "mtls"


class AuthorizerOutcome(StrEnum):
    """Outcomes of a check; the first two allow the request. ALLOWED_PREVIOUS: with the previous password. UNAVAILABLE:
    the store cannot be read."""

    ALLOWED = "allowed"
    ALLOWED_PREVIOUS = "allowed-previous"
    NO_CREDENTIALS = "denied-no-credentials"
    UNREADABLE_CREDENTIALS = "denied-unreadable-credentials"
    WRONG_CREDENTIALS = "denied-wrong-credentials"
    NOT_LISTED = "denied-not-listed"
    EXPIRED = "denied-expired"
    UNAVAILABLE = "failure-record-unavailable"
    INTERNAL = "failure-internal"


_ALLOWED = frozenset({AuthorizerOutcome.ALLOWED, AuthorizerOutcome.ALLOWED_PREVIOUS})


class CredentialStoreUnavailable(Exception):
    """The store cannot be read, or its content is invalid. The message has the cause and a remedy, never a secret."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome, and the detail for the log: it describes the error and never contains credentials. is_fallback: the
    store cannot be read, and an earlier read allows the request."""

    outcome: AuthorizerOutcome
    detail: str = ""
    is_fallback: bool = False

    @property
    def allowed(self) -> bool:
        return self.outcome in _ALLOWED
