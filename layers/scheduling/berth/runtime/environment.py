"""Settings out of a function's environment, whatever the function.

Apart from those of the verbs, for the authorizer's environment has no need of all that their types import.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError


class SettingsInvalid(Exception):
    """The environment does not say what the function needs; one line per variable."""


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


def _line(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(map(str, location))}: {message}" if location else message
