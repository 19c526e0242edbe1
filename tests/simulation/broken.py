"""Helpers for protocols with one rule left out: find these variants, and check that a run breaks a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isfunction, signature
from typing import Any

import pytest

Break = Callable[[pytest.MonkeyPatch], None]


def functions_of(module: Mapping[str, Any], *parameters: str) -> dict[str, Callable[..., None]]:
    """Return the functions of a module that have exactly these parameters, by name, so that no list can omit one."""
    found = {name: each for name, each in module.items() if isfunction(each)}
    return {name: each for name, each in found.items() if (*signature(each).parameters,) == parameters}


def fails(run: Callable[[], object], *others: type[Exception], message: str = "") -> bool:
    """Return whether the run raises AssertionError or one of `others`, with `message` in the text of the error."""
    broken: tuple[type[Exception], ...] = (AssertionError, *others)
    try:
        run()
    except broken as error:
        return message in str(error)
    return False
