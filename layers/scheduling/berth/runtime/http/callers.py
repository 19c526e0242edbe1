"""Check whether a caller may call a function behind the HTTP API.

With mutual TLS each function checks the certificate that the gateway has verified, before it reads the request. With
Basic credentials the gateway has asked the authorizer. `berth serve` without certificates checks nobody.

The decision depends on the function's environment and on the gateway's data about the connection. A caller controls
neither: headers, query, path and body stand elsewhere in the event.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from botocore.config import Config

from berth.authentication.outcomes import Authentication, AuthorizerOutcome, Decision
from berth.extender.deadline import BoundedReads, Deadline, DeadlinePassed
from berth.runtime.aws_clients import aws_client
from berth.runtime.environment import Settings, SettingsInvalid, one_of, variable
from berth.runtime.http.events import HTTPEvent
from berth.runtime.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from berth.authentication.authorizer import AnyAuthorizer
    from berth.authentication.stores import AllowListStore

# The scheduler waits for this and the verb together, 5 s by default.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})

NOT_READ_IN_TIME = "the allow-list or the password's secret was not read before the call's deadline"


@dataclass(frozen=True, kw_only=True)
class CallerSettings(Settings):
    """Settings of every function behind the HTTP API. The allow-list is a parameter of Systems Manager or, with
    `berth serve`, a file.

    Authentication may be None only outside Lambda, if `berth serve` listens without certificates.
    """

    authentication: Authentication | None = variable("BERTH_AUTHENTICATION", read=one_of(*Authentication), default=None)
    allow_list_parameter: str = variable("BERTH_ALLOW_LIST_PARAMETER", default="")
    allow_list: Path | None = variable("BERTH_ALLOW_LIST", read=Path, default=None)
    lambda_function: str = variable("AWS_LAMBDA_FUNCTION_NAME", default="")

    def __post_init__(self) -> None:
        super().__post_init__()
        lists = [given for given in (self.allow_list_parameter, self.allow_list) if given]
        if self.authentication is None and (lists or self.lambda_function):
            raise SettingsInvalid("set BERTH_AUTHENTICATION: basic or mtls")
        if self.authentication is Authentication.MTLS and len(lists) != 1:
            raise SettingsInvalid(
                "BERTH_AUTHENTICATION is mtls: set one of BERTH_ALLOW_LIST_PARAMETER and BERTH_ALLOW_LIST"
            )
        if self.authentication is Authentication.BASIC and lists:
            raise SettingsInvalid("BERTH_AUTHENTICATION is basic: an allow-list has no effect")


class CallerCheck:
    """Decides with an authorizer, and reports decisions as `verb=authorizer` wherever they are made."""

    def __init__(self, authorizer: AnyAuthorizer) -> None:
        self._authorizer = authorizer
        self._reads = BoundedReads()
        self._telemetry = Telemetry("authorizer")

    def decide(self, event: HTTPEvent, deadline: Deadline) -> Decision:
        """Decide about the event's caller. Never raises: it denies a caller it cannot check before the deadline."""
        try:
            return self._authorizer.decide(event, partial(self._reads.before, deadline))
        except DeadlinePassed:
            return Decision(AuthorizerOutcome.UNAVAILABLE, NOT_READ_IN_TIME)
        except Exception as error:
            # Only its type: a message or a stack trace may quote the presented credentials.
            return Decision(AuthorizerOutcome.INTERNAL, type(error).__name__)

    def report(self, decision: Decision, started: float) -> None:
        """Write one log line and one set of metrics. `started`: a time of `perf_counter`."""
        self._telemetry.ended(
            decision.outcome,
            detail=decision.detail,
            milliseconds=(perf_counter() - started) * 1000,
            failed=not decision.allowed,
        )

    def preload(self) -> None:
        """Read the record for the next request, which reports a failure."""
        with suppress(Exception):
            self._authorizer.preload()


def caller_check(settings: CallerSettings, wall: Callable[[], float]) -> CallerCheck | None:
    """Return the check of certificates, or None if the function checks nobody. Reads nothing. `wall`: epoch seconds."""
    if settings.authentication is not Authentication.MTLS:
        return None
    # A cold start without certificates does not need this import.
    from berth.authentication.authorizer import MutualTLSAuthorizer

    return CallerCheck(MutualTLSAuthorizer(_allow_list_store(settings), wall))


def _allow_list_store(settings: CallerSettings) -> AllowListStore:
    from berth.authentication.stores import AllowListFile, ParameterStoreAllowList

    if settings.allow_list is not None:
        return AllowListFile(settings.allow_list)
    return ParameterStoreAllowList(aws_client("ssm", CALLS), settings.allow_list_parameter)
