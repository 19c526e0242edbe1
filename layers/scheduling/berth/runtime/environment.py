"""The base of all settings: a model of environment variables; and what every caller's function has to know.

A module of its own, so that the authorizer does not import the types of the verbs' settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class SettingsInvalid(Exception):
    """A variable is missing or invalid; the message names each of them."""


class Settings(BaseModel):
    """Fields are read from the variables that their aliases name; an empty variable counts as absent."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsInvalid."""
        try:
            return cls.model_validate({name: value for name, value in environ.items() if value})
        except ValidationError as error:
            raise SettingsInvalid(
                "; ".join(_line(detail["loc"], detail["msg"]) for detail in error.errors())
            ) from error


class SchedulerSettings(Settings):
    """`http_timeout`: the extender's httpTimeout in the scheduler's configuration, in seconds."""

    http_timeout: float = Field(default=5.0, gt=1.0, alias="BERTH_HTTP_TIMEOUT")


def _line(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, location))}: {message}" if location else message
