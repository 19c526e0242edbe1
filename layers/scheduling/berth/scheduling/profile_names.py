"""Names of profiles in a configuration document: those that come with Berth, and those that the document defines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from berth.scheduling.profiles import SHIPPED


def _unknown(known: Iterable[str]) -> PydanticCustomError:
    expected = ", ".join(f"'{each}'" for each in known)
    return PydanticCustomError("profile_name", "Input should be {expected}", {"expected": expected})


def _exists(name: str, info: ValidationInfo) -> str:
    # Without definitions that could be read, nothing can be said of a name.
    definitions = info.data.get("definitions")
    if definitions is not None and name not in SHIPPED and name not in definitions:
        raise _unknown((*SHIPPED, *definitions))
    return name


def _shipped(name: str) -> str:
    if name not in SHIPPED:
        raise _unknown(SHIPPED)
    return name


def _new(name: str) -> str:
    if name in SHIPPED:
        raise PydanticCustomError("taken", "{name} is the name of a profile that comes with Berth", {"name": name})
    return name


ProfileName = Annotated[str, AfterValidator(_exists)]
"""Of a profile that there is. Its document validates `definitions` first."""

ShippedName = Annotated[str, AfterValidator(_shipped), WithJsonSchema({"type": "string", "enum": list(SHIPPED)})]
"""Of a profile that comes with Berth."""

NewName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"), AfterValidator(_new)]
"""For a profile of the user's own."""
