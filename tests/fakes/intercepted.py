"""Objects of a port whose calls pass through a function of the test, which may delay, fail or count them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

P = TypeVar("P")


Around = Callable[[str, tuple[Any, ...], Callable[[], Any]], Any]
"""Carries out a call. Its parameters: the method, the arguments, and a function that calls the target."""


def intercepted(port: type[Any], target: Callable[[], P], around: Around) -> P:
    """Make an object of the port. Its abstract methods call the target through `around`; it inherits the others."""

    def method(name: str) -> Callable[..., Any]:
        def call(_: object, *arguments: Any, **named: Any) -> Any:
            return around(name, arguments, lambda: getattr(target(), name)(*arguments, **named))

        return call

    methods = {name: method(name) for name in port.__abstractmethods__}
    return cast(P, type(port.__name__, (port,), methods)())


# Ports for one client of a simulation: something may happen around every call.

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
    """Return an object of the port that calls `between` before and after every request."""

    def around(method: str, _: tuple[Any, ...], effect: Callable[[], Any]) -> Any:
        return effect() if method in LOCAL else interrupted_call(between, effect)

    return intercepted(port, target, around)
