"""Base of all settings, whose fields are environment variables; settings that depend on the scheduler; and a helper
that sets context variables.

The settings are plain dataclasses: every function reads its settings while it starts, and importing pydantic takes as
long as importing a client of AWS. This is a separate module, so that the authorizer does not import the types of the
verbs' settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, Self, TypeVar

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

_VARIABLE = "variable"


class SettingsInvalid(Exception):
    """Variables are missing or invalid; the message names each of them."""


@dataclass(frozen=True, slots=True)
class Variable:
    """The source of a field. names: variables, of which the first that is set is used. read: raises ValueError with the
    expected format."""

    names: tuple[str, ...]
    read: Callable[[str], object]


def variable(*names: str, read: Callable[[str], object] = str, default: Any = MISSING) -> Any:
    """Return a field that is read from the first of these variables that is set. If there is no default, one of
    the variables must be set."""
    return field(default=default, metadata={_VARIABLE: Variable(names, read)})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Reads every field from its `variable`; an empty variable is treated as absent. `__post_init__` raises
    SettingsInvalid for values that exclude each other, and calls the method of the next base."""

    def __post_init__(self) -> None:
        pass

    @classmethod
    def variables(cls) -> Mapping[str, Variable]:
        return {each.name: each.metadata[_VARIABLE] for each in fields(cls)}

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read the settings. Raises SettingsInvalid."""
        values: dict[str, Any] = {}
        wrong: list[str] = []
        required = {each.name for each in fields(cls) if each.default is MISSING}
        for name, source in cls.variables().items():
            given = next((each for each in source.names if environ.get(each)), None)
            if given is None:
                wrong += [f"{source.names[0]}: Field required"] if name in required else []
                continue
            try:
                values[name] = source.read(environ[given])
            except ValueError as error:
                wrong.append(f"{given}: {error}")
        if wrong:
            raise SettingsInvalid("; ".join(wrong))
        return cls(**values)


def one_of(*allowed: E) -> Callable[[str], E]:
    by_value = {each.value: each for each in allowed}

    def read(text: str) -> E:
        if text not in by_value:
            *others, last = (f"'{value}'" for value in by_value)
            raise ValueError(f"Input should be {', '.join(others)} or {last}" if others else f"Input should be {last}")
        return by_value[text]

    return read


def boolean(text: str) -> bool:
    """Parse a boolean as in YAML; `1` and `0` are valid, too."""
    found = _BOOLEANS.get(text.lower())
    if found is None:
        raise ValueError("Input should be a valid boolean, such as true or false")
    return found


_BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


def number_above(least: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError as error:
            raise ValueError("Input should be a valid number") from error
        if not number > least:
            raise ValueError(f"Input should be greater than {least:g}")
        return number

    return read


def names(text: str) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(","))
    if "" in found:
        raise ValueError("Input should be names separated by commas")
    return found


@dataclass(frozen=True, kw_only=True)
class SchedulerSettings(Settings):
    """Settings that depend on the scheduler. `http_timeout`: the extender's httpTimeout in its configuration, in
    seconds. `initialization_type`: how Lambda starts this environment; empty outside Lambda."""

    http_timeout: float = variable("BERTH_HTTP_TIMEOUT", read=number_above(1.0), default=5.0)
    initialization_type: str = variable("AWS_LAMBDA_INITIALIZATION_TYPE", default="")


@contextmanager
def set_until_end(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set the variable until the block ends, for the metrics of a call, or for functions that the block loads."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
