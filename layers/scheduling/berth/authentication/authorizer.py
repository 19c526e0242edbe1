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
from berth.authentication.stores import CredentialStore, CredentialStoreUnavailable, Stored, Wait, wait_to_the_end

Presented = TypeVar("Presented")

MAX_AGE_SECONDS = 30.0
RECHECK_SECONDS = 5.0


class Authorizer(ABC, Generic[Presented, Stored]):
    """Allows or denies requests by the stored credentials, which it reads again when they are MAX_AGE_SECONDS old.

    Expired credentials are never used, even if reading fails. Ages are measured from the start of a read, in wall time:
    the monotonic clock may stop while an environment is frozen between two calls. Thread-safe.
    """

    def __init__(self, store: CredentialStore[Stored], wall: Callable[[], float]) -> None:
        self._store = store
        self._wall = wall
        self._cached: tuple[float, Stored] | None = None

    def decide(self, event: Mapping[str, object], wait: Wait = wait_to_the_end) -> Decision:
        """Return the decision on this request; before a denial, check again with recently read credentials. Raises the
        exceptions of `wait`."""
        presented = self._presented(event)
        if isinstance(presented, AuthorizerOutcome):
            return Decision(presented)
        try:
            decision = self._check(presented, self._stored(MAX_AGE_SECONDS, wait))
            return decision if decision.allowed else self._check(presented, self._stored(RECHECK_SECONDS, wait))
        except CredentialStoreUnavailable as error:
            return Decision(AuthorizerOutcome.UNAVAILABLE, str(error))

    def preload(self) -> None:
        """Read the store before the first request. Raises CredentialStoreUnavailable."""
        self._stored(MAX_AGE_SECONDS, wait_to_the_end)

    @abstractmethod
    def _presented(self, event: Mapping[str, object]) -> Presented | AuthorizerOutcome:
        """Return the request's credentials, or the outcome if they are missing or unreadable."""

    @abstractmethod
    def _check(self, presented: Presented, stored: Stored) -> Decision:
        """Compare the request's credentials with the stored ones."""

    def _stored(self, max_age: float, wait: Wait) -> Stored:
        """Return the stored credentials, read again if they are older. Raises the exceptions of `wait`."""
        now, cached = self._wall(), self._cached
        # After the clock was set back the age is negative: read again.
        if cached is not None and 0 <= now - cached[0] < max_age:
            return cached[1]
        return wait(partial(self._read_at, now))

    def _read_at(self, now: float) -> Stored:
        stored = self._store.read()
        self._cached = (now, stored)
        return stored


class BasicAuthorizer(Authorizer[str, Passwords]):
    """Checks only the identity source, because the gateway caches the response under it."""

    def _presented(self, event: Mapping[str, object]) -> str | AuthorizerOutcome:
        return _identity(event)

    def _check(self, presented: str, stored: Passwords) -> Decision:
        return Decision(basic.check(presented, stored, self._wall()))


class MutualTLSAuthorizer(Authorizer[ClientCertificate, AllowList]):
    """Checks the certificate that the gateway has verified."""

    def _presented(self, event: Mapping[str, object]) -> ClientCertificate | AuthorizerOutcome:
        return client_certificate.read(event)

    def _check(self, presented: ClientCertificate, stored: AllowList) -> Decision:
        outcome = client_certificate.check(presented, stored, self._wall())
        serials = " or ".join(f"{serial:x}" for serial in sorted(presented.serials))
        malformed = f"; malformed lines in the allow-list: {stored.malformed}" if stored.malformed else ""
        return Decision(outcome, f"certificate {serials}{malformed}")


AnyAuthorizer = BasicAuthorizer | MutualTLSAuthorizer


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
