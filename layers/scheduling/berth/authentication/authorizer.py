"""Decides whether the HTTP API accepts a request, from its event in payload format 2.0.

Guarantees: unknown credentials are denied. Credentials that are removed from the store are denied after at most
MAX_AGE_SECONDS, plus the time for which the gateway caches results. While the store cannot be read, the credentials of
the last read are used until they are GRACE_SECONDS old, then all requests are denied: an outage of the store neither
stops the scheduler at once nor keeps removed credentials valid. A denial is based on a read that is at most
RECHECK_SECONDS old, so added credentials are accepted soon.

Not guaranteed: immediate revocation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from berth.authentication import allow_list as client_certificate
from berth.authentication import basic
from berth.authentication.allow_list import AllowList, ClientCertificate
from berth.authentication.basic import Passwords
from berth.authentication.outcomes import AuthorizerOutcome, CredentialStoreUnavailable, Decision
from berth.authentication.stores import CredentialStore, Stored, Wait, wait_to_the_end

Presented = TypeVar("Presented")

MAX_AGE_SECONDS = 30.0
RECHECK_SECONDS = 5.0
GRACE_SECONDS = 900.0

RETRY_SECONDS = MAX_AGE_SECONDS
"""Seconds between two reads during an outage: each read delays a call, which then has less time."""


class Authorizer(ABC, Generic[Presented, Stored]):
    """Allows or denies requests by the stored credentials, which it reads again when they are MAX_AGE_SECONDS old.
    The wall clock measures their age: the monotonic clock may stop while an environment is frozen. Thread-safe."""

    def __init__(self, store: CredentialStore[Stored], wall: Callable[[], float]) -> None:
        self._store = store
        self._wall = wall
        self._cached: tuple[float, Stored] | None = None
        self._failed = (-math.inf, "")
        """The time of the last failed read, and the cause."""

    def decide(self, event: Mapping[str, object], wait: Wait = wait_to_the_end) -> Decision:
        """Return the decision on this request; before a denial, check again with recently read credentials."""
        presented = self._presented(event)
        if isinstance(presented, AuthorizerOutcome):
            return Decision(presented)
        try:
            stored, failure = self._stored(MAX_AGE_SECONDS, wait)
            decision = self._check(presented, stored)
            if not decision.allowed:
                stored, failure = self._stored(RECHECK_SECONDS, wait)
                decision = self._check(presented, stored)
        except CredentialStoreUnavailable as error:
            return Decision(AuthorizerOutcome.UNAVAILABLE, str(error))
        if not failure:
            return decision
        if not decision.allowed:  # the store may have other credentials by now
            return Decision(AuthorizerOutcome.UNAVAILABLE, failure)
        detail = "; ".join(filter(None, (decision.detail, f"by an earlier read: {failure}")))
        return replace(decision, detail=detail, is_fallback=True)

    @property
    def can_fall_back(self) -> bool:
        """Return whether a request can be allowed although the store cannot be read."""
        return self._cached_for(GRACE_SECONDS) is not None

    def preload(self) -> str:
        """Read the store before the next request. Return why it cannot be read; empty if it can."""
        try:
            return self._stored(MAX_AGE_SECONDS, wait_to_the_end)[1]
        except CredentialStoreUnavailable as error:
            return str(error)

    @abstractmethod
    def _presented(self, event: Mapping[str, object]) -> Presented | AuthorizerOutcome:
        """Return the request's credentials, or the outcome if they are missing or unreadable."""

    @abstractmethod
    def _check(self, presented: Presented, stored: Stored) -> Decision:
        """Compare the request's credentials with the stored ones."""

    def _stored(self, max_age: float, wait: Wait) -> tuple[Stored, str]:
        """Return the stored credentials. If the last read is older than max_age, read again; if that fails, return the
        last read and the cause. Raises CredentialStoreUnavailable."""
        recent = self._cached_for(max_age)
        if recent is not None:
            return recent, ""
        is_denied, last_try = max_age < MAX_AGE_SECONDS, self._wall() - self._failed[0]
        if is_denied or not self.can_fall_back or not 0 <= last_try < RETRY_SECONDS:
            try:
                return wait(partial(self._read_at, self._wall())), ""
            except CredentialStoreUnavailable as error:
                self._failed = self._wall(), str(error)
        last = self._cached_for(GRACE_SECONDS)
        if last is None:
            raise CredentialStoreUnavailable(self._failed[1])
        return last, self._failed[1]

    def _cached_for(self, max_age: float) -> Stored | None:
        """Return the credentials of the last read, or None if they are older than `max_age` or the clock was set
        back."""
        cached = self._cached
        return cached[1] if cached is not None and 0 <= self._wall() - cached[0] < max_age else None

    def _read_at(self, now: float) -> Stored:
        stored = self._store.read()
        self._cached = (now, stored)
        return stored


class BasicAuthorizer(Authorizer[str, Passwords]):
    """Checks only the identity source, because it is the key of the response in the gateway's cache."""

    def _presented(self, event: Mapping[str, object]) -> str | AuthorizerOutcome:
        match event.get("identitySource"):
            case [str(header)] if header:
                return header
            case None | "" | [] | [None] | [""]:
                return AuthorizerOutcome.NO_CREDENTIALS
            case _:
                return AuthorizerOutcome.UNREADABLE_CREDENTIALS

    def _check(self, presented: str, stored: Passwords) -> Decision:
        return Decision(basic.check(presented, stored, self._wall()))


class MutualTLSAuthorizer(Authorizer[ClientCertificate, AllowList]):
    def _presented(self, event: Mapping[str, object]) -> ClientCertificate | AuthorizerOutcome:
        return client_certificate.read(event)

    def _check(self, presented: ClientCertificate, stored: AllowList) -> Decision:
        outcome = client_certificate.check(presented, stored, self._wall())
        serials = " or ".join(f"{serial:x}" for serial in sorted(presented.serials))
        malformed = f"; malformed lines in the allow-list: {stored.malformed}" if stored.malformed else ""
        return Decision(outcome, f"certificate {serials}{malformed}")


AnyAuthorizer = BasicAuthorizer | MutualTLSAuthorizer
