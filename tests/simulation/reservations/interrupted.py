"""Ports for one client of a simulation: something may happen around every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tests.fakes.intercepted import intercepted

P = TypeVar("P")
T = TypeVar("T")

Between = Callable[[], None]

LOCAL = frozenset({"most_members"})
"""Methods that do not make a request."""


def interrupted_call(between: Between, call: Callable[[], T]) -> T:
    between()
    done = call()
    between()
    return done


def interrupted(port: type[Any], target: Callable[[], P], between: Between) -> P:
    """Let something happen before and after every request."""

    def around(method: str, _: tuple[Any, ...], effect: Callable[[], Any]) -> Any:
        return effect() if method in LOCAL else interrupted_call(between, effect)

    return intercepted(port, target, around)
