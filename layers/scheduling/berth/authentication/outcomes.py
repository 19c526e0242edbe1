"""The outcomes of the authorizer, as log field and metric dimension."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Authentication(StrEnum):
    """BASIC: a password in the urlPrefix, for evaluation. MTLS: a client certificate. There is no anonymous access."""

    BASIC = "basic"
    MTLS = "mtls"


class AuthorizerOutcome(StrEnum):
    """Only the first two allow a request. ALLOWED_PREVIOUS: the caller still uses the previous password.

    UNAVAILABLE: the store of credentials cannot be read.
    """

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


@dataclass(frozen=True, slots=True)
class Decision:
    """detail: for the log; it says what was wrong and never contains credentials."""

    outcome: AuthorizerOutcome
    detail: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.outcome in _ALLOWED
