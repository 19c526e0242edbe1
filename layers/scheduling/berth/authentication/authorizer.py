"""Decides whether the HTTP API accepts a request, from its event in payload format 2.0.

Guarantees: unknown credentials are denied. While the store cannot be read, all requests are denied. Credentials that
are removed from the store are denied after at most MAX_AGE_SECONDS, plus the time for which the gateway caches results.
A denial is based on a read that is at most RECHECK_SECONDS old, so added credentials are accepted soon.

Not guaranteed: immediate revocation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Generic, TypeVar

from berth.authentication import allow_list as client_certificate
from berth.authentication import basic
from berth.authentication.allow_list import AllowList, ClientCertificate
from berth.authentication.basic import Passwords
from berth.authentication.outcomes import AuthorizerOutcome, Decision
from berth.authentication.stores import AllowListStore, CredentialStoreUnavailable, PasswordStore, Wait, wait_to_the_end

T = TypeVar("T")


class TTLCache(Generic[T]):
    """A value that is read again when it is `max_age` seconds old, measured from the start of the read.

    An expired value is never used, even if reading fails. Ages use wall time: the monotonic clock may stop while an
    environment is frozen between two calls.
    """

    def __init__(self, read: Callable[[], T], wall: Callable[[], float], max_age: float) -> None:
        self._read = read
        self._wall = wall
        self._max_age = max_age
        self._cached: tuple[float, T] | None = None

    def value(self, wait: Wait = wait_to_the_end) -> T:
        """Return the value, at most `max_age` seconds old. Raises the exceptions of `read` and `wait`."""
        return self.value_not_older_than(self._max_age, wait)

    def value_not_older_than(self, seconds: float, wait: Wait) -> T:
        """Return the value, read again if it is older. Raises the exceptions of `read` and `wait`."""
        now, cached = self._wall(), self._cached
        # After the clock was set back the age is negative: read again.
        if cached is not None and 0 <= now - cached[0] < seconds:
            return cached[1]
        return wait(partial(self._read_at, now))

    def _read_at(self, now: float) -> T:
        value = self._read()
        self._cached = (now, value)
        return value


Credentials = TypeVar("Credentials")

MAX_AGE_SECONDS = 30.0
RECHECK_SECONDS = 5.0


class Authorizer(ABC):
    """Allows or denies requests. Thread-safe."""

    @abstractmethod
    def decide(self, event: Mapping[str, object], wait: Wait = wait_to_the_end) -> Decision:
        """Return the decision on this request. Raises the exceptions of `wait`."""

    @abstractmethod
    def preload(self) -> None:
        """Read the store before the first request. Raises CredentialStoreUnavailable."""


class BasicAuthorizer(Authorizer):
    """Checks only the identity source, because the gateway caches the response under it."""

    def __init__(self, store: PasswordStore, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._passwords: TTLCache[Passwords] = TTLCache(store.read, wall, MAX_AGE_SECONDS)

    def decide(self, event: Mapping[str, object], wait: Wait = wait_to_the_end) -> Decision:
        header = _identity(event)
        if isinstance(header, AuthorizerOutcome):
            return Decision(header)
        return _decide(lambda passwords: Decision(basic.check(header, passwords, self._wall())), self._passwords, wait)

    def preload(self) -> None:
        self._passwords.value()


class MutualTLSAuthorizer(Authorizer):
    """Checks the certificate that the gateway has verified."""

    def __init__(self, store: AllowListStore, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._allowed: TTLCache[AllowList] = TTLCache(store.read, wall, MAX_AGE_SECONDS)

    def decide(self, event: Mapping[str, object], wait: Wait = wait_to_the_end) -> Decision:
        certificate = client_certificate.read(event)
        if isinstance(certificate, AuthorizerOutcome):
            return Decision(certificate)
        return _decide(lambda allowed: self._check(allowed, certificate), self._allowed, wait)

    def preload(self) -> None:
        self._allowed.value()

    def _check(self, allowed: AllowList, certificate: ClientCertificate) -> Decision:
        outcome = client_certificate.check(certificate, allowed, self._wall())
        serials = " or ".join(f"{serial:x}" for serial in sorted(certificate.serials))
        malformed = f"; malformed lines in the allow-list: {allowed.malformed}" if allowed.malformed else ""
        return Decision(outcome, f"certificate {serials}{malformed}")


def _decide(check: Callable[[Credentials], Decision], credentials: TTLCache[Credentials], wait: Wait) -> Decision:
    """Check with the cached credentials; before a denial, check again with fresh credentials."""
    try:
        decision = check(credentials.value(wait))
        return decision if decision.allowed else check(credentials.value_not_older_than(RECHECK_SECONDS, wait))
    except CredentialStoreUnavailable as error:
        return Decision(AuthorizerOutcome.UNAVAILABLE, str(error))


def _identity(event: Mapping[str, object]) -> str | AuthorizerOutcome:
    """Return the Authorization header, which is the authorizer's only identity source."""
    sources = event.get("identitySource")
    if not sources:
        return AuthorizerOutcome.NO_CREDENTIALS
    match sources:
        case [str(header)] if header:
            return header
        case [None] | [""]:
            return AuthorizerOutcome.NO_CREDENTIALS
        case _:
            return AuthorizerOutcome.UNREADABLE_CREDENTIALS
