"""What the authorizer's function is told by its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from berth.authentication.outcomes import Authentication
from berth.runtime.settings.environment import Settings


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
