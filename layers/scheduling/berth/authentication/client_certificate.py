"""The client certificate in the gateway's event, `requestContext.authentication.clientCert`: serial and validity.

The gateway has verified the chain and the key. It does not check revocation. It checks the validity when a connection
begins, not for each request. Pure.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from berth.authentication.allow_list import AllowList, AllowListStatus
from berth.authentication.outcomes import AuthorizerOutcome

_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,64}")
_DECIMAL = re.compile(r"[0-9]{1,64}")
_OUTCOMES = {
    AllowListStatus.LISTED: AuthorizerOutcome.ALLOWED,
    AllowListStatus.EXPIRED: AuthorizerOutcome.EXPIRED,
    AllowListStatus.NOT_LISTED: AuthorizerOutcome.NOT_LISTED,
}


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """serials: all numbers that the text may mean. Times are seconds since the epoch.

    AWS documents hexadecimal digits with colons, but its examples have decimal digits. Serial numbers are random, so
    the second reading of one does not equal another.
    """

    serials: frozenset[int]
    not_before: float
    not_after: float


def read(event: Mapping[str, object]) -> ClientCertificate | AuthorizerOutcome:
    """NO_CREDENTIALS: the request has no certificate. UNREADABLE_CREDENTIALS: serial or validity is malformed."""
    found: object = event
    for key in ("requestContext", "authentication", "clientCert"):
        found = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not found:
        return AuthorizerOutcome.NO_CREDENTIALS
    validity = found.get("validity")
    serials = _serials(found.get("serialNumber"))
    if not serials or not isinstance(validity, Mapping):
        return AuthorizerOutcome.UNREADABLE_CREDENTIALS
    try:
        not_before, not_after = (
            float(ssl.cert_time_to_seconds(str(validity.get(key)))) for key in ("notBefore", "notAfter")
        )
    except ValueError:
        return AuthorizerOutcome.UNREADABLE_CREDENTIALS
    return ClientCertificate(serials, not_before, not_after)


def check(certificate: ClientCertificate, allowed: AllowList, now: float) -> AuthorizerOutcome:
    """Whether the certificate is valid now and on the list. now: seconds since the epoch."""
    if not certificate.not_before <= now < certificate.not_after:
        return AuthorizerOutcome.EXPIRED
    return _OUTCOMES[allowed.status(certificate.serials, now)]


def _serials(text: object) -> frozenset[int]:
    if not isinstance(text, str):
        return frozenset()
    digits = text.replace(":", "")
    if not _HEXADECIMAL.fullmatch(digits):
        return frozenset()
    found = {int(digits, 16)}
    if _DECIMAL.fullmatch(text):
        found.add(int(text))
    return frozenset(found)
