"""The decision on a request of the HTTP API: an event of payload format 2.0 in, a Decision out.

Guarantees: who is not on record is denied; so is everybody while the record cannot be read. What is withdrawn from the
record is denied MAX_AGE_SECONDS later at most, to which the gateway adds the time for which it keeps answers. A denial
is decided on a record that is no older than RECHECK_SECONDS, so that what was added counts at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from berth.authentication import basic, client_certificate
from berth.authentication.allow_list import AllowList
from berth.authentication.basic import Passwords
from berth.authentication.client_certificate import ClientCertificate
from berth.authentication.outcomes import AuthorizerOutcome, Decision
from berth.authentication.ports import AllowListRecord, PasswordRecord, RecordUnavailable

T = TypeVar("T")


class TTLCache(Generic[T]):
    """What was read counts for `max_age` seconds from before it was read, and not a moment longer, even while it cannot
    be read again.

    By wall time: the monotonic clock of an environment that is frozen between two calls may stand still.
    """

    def __init__(self, read: Callable[[], T], wall: Callable[[], float], max_age: float) -> None:
        self._read = read
        self._wall = wall
        self._max_age = max_age
        self._known: tuple[float, T] | None = None

    def value(self) -> T:
        """Raises what reading raises."""
        return self.not_older_than(self._max_age)

    def not_older_than(self, seconds: float) -> T:
        """Raises what reading raises."""
        now, known = self._wall(), self._known
        # A clock that was set back makes it old, not young.
        if known is not None and 0 <= now - known[0] < seconds:
            return known[1]
        value = self._read()
        self._known = (now, value)
        return value


Record = TypeVar("Record")

MAX_AGE_SECONDS = 30.0
RECHECK_SECONDS = 5.0


class Authorizer(ABC):
    """May be called by several threads at once."""

    @abstractmethod
    def decide(self, event: Mapping[str, object]) -> Decision:
        """Whether this request may go on."""

    @abstractmethod
    def catch_up(self) -> None:
        """Read the record, for a request that is yet to come. Raises RecordUnavailable."""


class BasicAuthorizer(Authorizer):
    """By the one identity source, and by nothing else in the event: it is what the gateway keeps its answer for."""

    def __init__(self, record: PasswordRecord, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._passwords: TTLCache[Passwords] = TTLCache(record.read, wall, MAX_AGE_SECONDS)

    def decide(self, event: Mapping[str, object]) -> Decision:
        header = _identity(event)
        if isinstance(header, AuthorizerOutcome):
            return Decision(header)
        return _decided(lambda passwords: Decision(basic.check(header, passwords, self._wall())), self._passwords)

    def catch_up(self) -> None:
        self._passwords.value()


class MutualTLSAuthorizer(Authorizer):
    """By the certificate that the gateway has verified."""

    def __init__(self, record: AllowListRecord, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._allowed: TTLCache[AllowList] = TTLCache(record.read, wall, MAX_AGE_SECONDS)

    def decide(self, event: Mapping[str, object]) -> Decision:
        certificate = client_certificate.read(event)
        if isinstance(certificate, AuthorizerOutcome):
            return Decision(certificate)
        return _decided(lambda allowed: self._held_against(allowed, certificate), self._allowed)

    def catch_up(self) -> None:
        self._allowed.value()

    def _held_against(self, allowed: AllowList, certificate: ClientCertificate) -> Decision:
        outcome = client_certificate.check(certificate, allowed, self._wall())
        serials = " or ".join(f"{serial:x}" for serial in sorted(certificate.serials))
        unreadable = (
            f"; lines of the allow-list that cannot be read: {allowed.unreadable}" if allowed.unreadable else ""
        )
        return Decision(outcome, f"certificate {serials}{unreadable}")


def _decided(check: Callable[[Record], Decision], record: TTLCache[Record]) -> Decision:
    """By what is remembered; a denial by what has just been read."""
    try:
        decision = check(record.value())
        return decision if decision.allowed else check(record.not_older_than(RECHECK_SECONDS))
    except RecordUnavailable as error:
        return Decision(AuthorizerOutcome.UNAVAILABLE, str(error))


def _identity(event: Mapping[str, object]) -> str | AuthorizerOutcome:
    """The Authorization header: the authorizer's only identity source."""
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
