"""How a call of the authorizer ends: decided once, told once (log field and metric)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Authentication(StrEnum):
    """BASIC: a password in the urlPrefix, for trying out. MTLS: a client certificate. There is no third."""

    BASIC = "basic"
    MTLS = "mtls"


class AuthorizerOutcome(StrEnum):
    """Only the first two let a request through. ALLOWED_PREVIOUS: by the password before the current one; as long as
    it is counted, a caller has yet to change over. UNAVAILABLE: there is nothing to compare with."""

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
    """`detail` is for the log: it says what was wrong and never what was presented."""

    outcome: AuthorizerOutcome
    detail: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.outcome in _ALLOWED
