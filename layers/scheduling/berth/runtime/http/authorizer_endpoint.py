"""The authorizer's function, which the gateway calls if callers have a password: its settings and its answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Literal

from berth.authentication.authorizer import AnyAuthorizer, BasicAuthorizer
from berth.authentication.outcomes import Authentication
from berth.authentication.stores import SecretsManagerPasswords
from berth.lease.clock import Clock, SystemClock
from berth.runtime.aws_clients import CALLS, aws_client
from berth.runtime.environment import SchedulerSettings, one_of, variable
from berth.runtime.http.callers import CallerCheck
from berth.runtime.http.events import WARM_UP_EVENT, WARM_UP_SOURCE, HTTPEvent, call_deadline, is_from
from berth.runtime.http.first_call import load_before_first_call
from berth.runtime.telemetry.metrics import measured_call

SYSTEM_CLOCK = SystemClock()


@dataclass(frozen=True, kw_only=True)
class AuthorizerSettings(SchedulerSettings):
    """Settings of the authorizer: the secret with the password. Mutual TLS does not use an authorizer."""

    authentication: Literal[Authentication.BASIC] = variable("BERTH_AUTHENTICATION", read=one_of(Authentication.BASIC))
    password_secret: str = variable("BERTH_PASSWORD_SECRET")


class AuthorizerEndpoint:
    def __init__(self, authorizer: AnyAuthorizer, http_timeout: float, clock: Clock = SYSTEM_CLOCK) -> None:
        self._check = CallerCheck(authorizer)
        self._http_timeout = http_timeout
        self._clock = clock

    def handle(self, event: HTTPEvent) -> dict[str, bool]:
        """Return the decision about the caller, as a simple response of payload format 2.0. A denied caller gets a 403.
        Never raises: the gateway would answer 500, and call again for every request."""
        if is_from(event, WARM_UP_SOURCE):
            self._check.preload()
            return {"isAuthorized": False}
        with measured_call():
            started = perf_counter()
            decision = self._check.decide(event, call_deadline(event, self._http_timeout, self._clock))
            self._check.report(decision, started)
            return {"isAuthorized": decision.allowed}


def authorizer_endpoint(settings: AuthorizerSettings) -> AuthorizerEndpoint:
    client = aws_client("secretsmanager", CALLS)
    passwords = SecretsManagerPasswords(client, settings.password_secret, time.time)
    endpoint = AuthorizerEndpoint(BasicAuthorizer(passwords, time.time), settings.http_timeout)
    load_before_first_call(partial(endpoint.handle, WARM_UP_EVENT), settings)
    return endpoint
