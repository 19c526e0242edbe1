"""Basic credentials (RFC 7617), compared with the stored passwords.

Only digests are kept and compared. All digests have the same length, so the time of a comparison does not reveal the
password. A password that is not kept cannot be logged. This module does not do I/O.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass

from berth.authentication.outcomes import AuthorizerOutcome

MAX_HEADER_LENGTH = 1024
"""Far more than a user name and a password need; a longer header is not decoded."""

_NO_PASSWORD = bytes(hashlib.sha256().digest_size)
"""A digest that is not the digest of any credentials."""


class InvalidSecret(ValueError):
    """The secret is not a JSON object with username and password. The message does not contain any part of it."""


@dataclass(frozen=True, slots=True)
class Passwords:
    """Digests of `user:password`. `previous` is accepted until `previous_until`, in seconds since the epoch."""

    current: bytes
    previous: bytes | None = None
    previous_until: float = 0.0


def credentials_digest(secret: str) -> bytes:
    """Return the digest of a secret `{"username": …, "password": …}`. Raises InvalidSecret."""
    try:
        record = json.loads(secret)
    except ValueError:
        raise InvalidSecret("the secret is not JSON") from None
    if not isinstance(record, dict):
        raise InvalidSecret("the secret is not a JSON object")
    name, password = record.get("username"), record.get("password")
    if not isinstance(name, str) or not name or ":" in name:
        raise InvalidSecret("the secret's username is empty, has a colon or is no text")
    if not isinstance(password, str) or not password:
        raise InvalidSecret("the secret's password is empty or is no text")
    return _digest(f"{name}:{password}".encode("utf-8", "surrogatepass"))


def check(header: str, passwords: Passwords, now: float) -> AuthorizerOutcome:
    """Check the value of an Authorization header. Both comparisons are always made, in constant time."""
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
    """Return `user:password`, or None if the header is not one set of Basic credentials (several are comma-joined)."""
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
