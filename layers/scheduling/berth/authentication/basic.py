"""Basic credentials (RFC 7617), compared with the passwords on record.

Only digests are kept and compared: they have one length, so that the time of a comparison tells nothing, and what is
not kept cannot be logged. Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass

from berth.authentication.outcomes import AuthorizerOutcome

MAX_HEADER_LENGTH = 1024
"""Far above a user name and a password; what is longer is not even decoded."""

_NO_PASSWORD = bytes(hashlib.sha256().digest_size)
"""Equal to no digest that anyone could present."""


class RecordUnreadable(ValueError):
    """The secret is not what it has to be. The message has no part of it."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """Digests of `user:password`. The previous one counts until `previous_until`, in seconds since the epoch."""

    current: bytes
    previous: bytes | None = None
    previous_until: float = 0.0


def digest_of_record(secret: str) -> bytes:
    """Of a secret `{"username": …, "password": …}`. Raises RecordUnreadable."""
    try:
        record = json.loads(secret)
    except ValueError:
        raise RecordUnreadable("the secret is not JSON") from None
    if not isinstance(record, dict):
        raise RecordUnreadable("the secret is not a JSON object")
    name, password = record.get("username"), record.get("password")
    if not isinstance(name, str) or not name or ":" in name:
        raise RecordUnreadable("the secret's username is empty, has a colon or is no text")
    if not isinstance(password, str) or not password:
        raise RecordUnreadable("the secret's password is empty or is no text")
    return _digest(f"{name}:{password}".encode("utf-8", "surrogatepass"))


def check(header: str, passwords: Passwords, now: float) -> AuthorizerOutcome:
    """The value of an Authorization header. Every comparison is made, whatever the one before it found."""
    presented = _presented(header)
    if presented is None:
        return AuthorizerOutcome.UNREADABLE_CREDENTIALS
    digest = _digest(presented)
    is_current = hmac.compare_digest(digest, passwords.current)
    is_previous = hmac.compare_digest(digest, passwords.previous or _NO_PASSWORD)
    if is_current:
        return AuthorizerOutcome.ALLOWED
    if is_previous and now < passwords.previous_until:
        return AuthorizerOutcome.ALLOWED_PREVIOUS
    return AuthorizerOutcome.WRONG_CREDENTIALS


def _presented(header: str) -> bytes | None:
    """`user:password`, or None where the header is no Basic credentials; so are several that were joined by commas."""
    if len(header) > MAX_HEADER_LENGTH:
        return None
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(encoded.strip(" "), validate=True)
    except ValueError:
        return None
    return decoded if b":" in decoded else None


def _digest(credentials: bytes) -> bytes:
    return hashlib.sha256(credentials).digest()
