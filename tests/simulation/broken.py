"""Protocols without one of their rules, and whether a run of one breaks a guarantee."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Break = Callable[[pytest.MonkeyPatch], None]


def by_name(*broken: Break) -> dict[str, Break]:
    return {each.__name__: each for each in broken}


def fails(run: Callable[[], object], *others: type[Exception], message: str = "") -> bool:
    """others: what the run may raise instead of AssertionError. message: what its text contains."""
    broken: tuple[type[Exception], ...] = (AssertionError, *others)
    try:
        run()
    except broken as error:
        return message in str(error)
    return False
