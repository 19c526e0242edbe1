"""Checks whether a caller may call a function behind the HTTP API.

With mutual TLS each function checks the certificate that the gateway has verified, before it reads the request. With
Basic credentials the gateway has asked the authorizer. `berth serve` without certificates does not check callers.

The decision depends on the function's environment and on the gateway's data about the connection. A caller cannot
control either: headers, query, path and body are in other parts of the event.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from berth.authentication.outcomes import Authentication, AuthorizerOutcome, CredentialStoreUnavailable, Decision
from berth.extender.deadline import BoundedReads, Deadline, DeadlinePassed
from berth.runtime.aws_clients import CALLS, aws_client
from berth.runtime.environment import Settings, SettingsInvalid, one_of, variable
from berth.runtime.http.events import HTTPEvent
from berth.runtime.telemetry.metrics import CacheMetrics
from berth.runtime.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from berth.authentication.authorizer import AnyAuthorizer

T = TypeVar("T")

NOT_READ_IN_TIME = "the allow-list or the password's secret was not read in time"


@dataclass(frozen=True, kw_only=True)
class CallerSettings(Settings):
    """The settings of the check. The allow-list is in the cache table or, with `berth serve`, in a file. Authentication
    is None only outside Lambda, if `berth serve` listens without certificates."""

    authentication: Authentication | None = variable("BERTH_AUTHENTICATION", read=one_of(*Authentication), default=None)
    cache_table: str = variable("BERTH_CACHE_TABLE", default="")
    allow_list: Path | None = variable("BERTH_ALLOW_LIST", read=Path, default=None)
    lambda_function: str = variable("AWS_LAMBDA_FUNCTION_NAME", default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.authentication is None and (self.allow_list or self.lambda_function):
            raise SettingsInvalid("set BERTH_AUTHENTICATION: basic or mtls")
        if self.authentication is Authentication.MTLS and not (self.allow_list or self.cache_table):
            raise SettingsInvalid("BERTH_AUTHENTICATION is mtls: set BERTH_CACHE_TABLE or BERTH_ALLOW_LIST")
        if self.authentication is Authentication.BASIC and self.allow_list:
            raise SettingsInvalid("BERTH_AUTHENTICATION is basic: an allow-list has no effect")


class CallerCheck:
    """Decides with an authorizer, and reports each decision as `verb=authorizer`, whichever function makes the
    decision."""

    def __init__(self, authorizer: AnyAuthorizer) -> None:
        self._authorizer = authorizer
        self._reads = BoundedReads()
        self._telemetry = Telemetry("authorizer")
        self._fell_back = CacheMetrics("authorizer", time.time).fell_back

    def decide(self, event: HTTPEvent, deadline: Deadline) -> Decision:
        """Decide about the event's caller. Never raises: a caller that cannot be checked in time is denied."""
        try:
            if self._authorizer.can_fall_back:
                deadline = deadline.earlier(deadline.remaining() / 2)  # the verb needs the other half
            decision = self._authorizer.decide(event, partial(self._wait, deadline))
        except Exception as error:
            # Log only the type: a message or a stack trace may quote the caller's credentials.
            return Decision(AuthorizerOutcome.INTERNAL, type(error).__name__)
        if decision.is_fallback:
            self._fell_back()
        return decision

    def _wait(self, deadline: Deadline, read: Callable[[], T]) -> T:
        try:
            return self._reads.before(deadline, read)
        except DeadlinePassed:
            raise CredentialStoreUnavailable(NOT_READ_IN_TIME) from None

    def report(self, decision: Decision, started: float) -> None:
        """Write one log line and one set of metrics. `started`: a time of `perf_counter`."""
        self._telemetry.ended(
            decision.outcome,
            detail=decision.detail,
            milliseconds=(perf_counter() - started) * 1000,
            failed=not decision.allowed,
        )

    def preload(self) -> None:
        """Read the list for the next request, and report a failure, which otherwise only a request would report."""
        with suppress(Exception):
            started = perf_counter()
            failure = self._authorizer.preload()
            if failure:
                self.report(Decision(AuthorizerOutcome.UNAVAILABLE, failure), started)


def caller_check(settings: CallerSettings, wall: Callable[[], float]) -> CallerCheck | None:
    """Return the check of certificates, or None if callers are not checked. `wall`: returns seconds since the epoch."""
    if settings.authentication is not Authentication.MTLS:
        return None
    # A cold start without certificates does not need these imports.
    from berth.authentication.authorizer import MutualTLSAuthorizer
    from berth.authentication.dynamodb_allow_list import DynamoDBAllowList
    from berth.authentication.stores import AllowListFile

    if settings.allow_list is not None:
        return CallerCheck(MutualTLSAuthorizer(AllowListFile(settings.allow_list), wall))
    client = aws_client("dynamodb", CALLS)
    return CallerCheck(MutualTLSAuthorizer(DynamoDBAllowList(client, settings.cache_table), wall))
