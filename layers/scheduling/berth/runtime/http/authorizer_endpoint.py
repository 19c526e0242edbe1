"""The authorizer's function: its record, its answer to the gateway, its log line and its metric."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Self, TypedDict

import boto3
from botocore.config import Config
from pydantic import Field, model_validator

from berth.authentication.allow_list_stores import AllowListFile, ParameterStoreAllowList
from berth.authentication.authorizer import Authorizer, BasicAuthorizer, MutualTLSAuthorizer
from berth.authentication.outcomes import Authentication, AuthorizerOutcome, Decision
from berth.authentication.secrets_manager_passwords import SecretsManagerPasswords
from berth.runtime.environment import Settings
from berth.runtime.http.events import HTTPEvent, is_warm_up
from berth.runtime.telemetry.telemetry import Telemetry

# The scheduler waits for the authorizer and the verb together, 5 s by default.
CALLS = Config(connect_timeout=1, read_timeout=1, retries={"total_max_attempts": 2, "mode": "standard"})


class AuthorizerSettings(Settings):
    """How callers authenticate, and where it is recorded who they are: for Basic in a secret of Secrets Manager, for
    mutual TLS in a parameter of Systems Manager (or, with `berth serve`, in a file).
    """

    authentication: Authentication = Field(alias="BERTH_AUTHENTICATION")
    password_secret: str = Field(default="", alias="BERTH_PASSWORD_SECRET")
    allow_list_parameter: str = Field(default="", alias="BERTH_ALLOW_LIST_PARAMETER")
    allow_list: Path | None = Field(default=None, alias="BERTH_ALLOW_LIST")

    @model_validator(mode="after")
    def _one_record(self) -> Self:
        if self.authentication is Authentication.BASIC and not self.password_secret:
            raise ValueError("BERTH_AUTHENTICATION is basic: set BERTH_PASSWORD_SECRET")
        lists = [given for given in (self.allow_list_parameter, self.allow_list) if given]
        if self.authentication is Authentication.MTLS and len(lists) != 1:
            raise ValueError("BERTH_AUTHENTICATION is mtls: set one of BERTH_ALLOW_LIST_PARAMETER and BERTH_ALLOW_LIST")
        return self


class SimpleAnswer(TypedDict):
    """What an authorizer of payload format 2.0 with simple responses answers; a denial is a 403 to the caller."""

    isAuthorized: bool


class AuthorizerEndpoint:
    """An authorizer behind the HTTP API."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._telemetry = Telemetry("authorizer")

    def handle(self, event: HTTPEvent) -> SimpleAnswer:
        """Never raises: the gateway would answer 500, and would ask again with every request."""
        if is_warm_up(event):
            return self._warmed_up()
        with self._telemetry.traced():
            started = perf_counter()
            decision = self._decide(event)
            self._telemetry.ended(
                decision.outcome,
                pod="",
                detail=decision.detail,
                milliseconds=(perf_counter() - started) * 1000,
                failed=not decision.allowed,
            )
            return {"isAuthorized": decision.allowed}

    def _decide(self, event: HTTPEvent) -> Decision:
        try:
            return self._authorizer.decide(event)
        except Exception as error:
            # Its type and no more: a message or a stack trace may quote what was presented.
            return Decision(AuthorizerOutcome.INTERNAL, type(error).__name__)

    def _warmed_up(self) -> SimpleAnswer:
        with suppress(Exception):  # the next request reports the failure
            self._authorizer.preload()
        return {"isAuthorized": False}


def authorizer_for(settings: AuthorizerSettings) -> Authorizer:
    """The authorizer that the settings ask for. Reads nothing."""
    if settings.authentication is Authentication.BASIC:
        client = boto3.client("secretsmanager", config=CALLS)
        return BasicAuthorizer(SecretsManagerPasswords(client, settings.password_secret, time.time), time.time)
    if settings.allow_list is not None:
        return MutualTLSAuthorizer(AllowListFile(settings.allow_list), time.time)
    ssm = boto3.client("ssm", config=CALLS)
    return MutualTLSAuthorizer(ParameterStoreAllowList(ssm, settings.allow_list_parameter), time.time)
