"""Reduces a case while it keeps its difference."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.parity.responder import Case

Path = tuple[str | int, ...]

IDENTITY = frozenset({"apiVersion", "kind", "uid"})
"""Fields to keep: without them an object is invalid, not smaller."""


def minimise(case: Case, shows: Callable[[Case], bool]) -> Case:
    """Remove objects, then fields, until no part can be removed."""
    smaller = {**case, "objects": _fewest(case["objects"], lambda objects: shows({**case, "objects": objects}))}
    while True:
        before = smaller
        for path in sorted(_paths(smaller), key=len):
            without = _without(smaller, path)
            if without is not None and shows(without):
                smaller = without
        if smaller == before:
            return smaller


def _fewest(items: list[Any], enough: Callable[[list[Any]], bool]) -> list[Any]:
    """Remove parts of a list, at first large and then smaller parts, as long as the rest is enough."""
    size = len(items) // 2
    while size:
        start = 0
        while start < len(items):
            without = items[:start] + items[start + size :]
            if enough(without):
                items = without
            else:
                start += size
        size //= 2
    return items


def _paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield all paths below the case's fields, later list items first, so that paths of earlier items stay valid."""
    if isinstance(value, dict):
        steps: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        steps = list(reversed(list(enumerate(value))))
    else:
        return
    for step, inner in steps:
        path = (*at, step)
        if len(path) > 1 and step not in IDENTITY:
            yield path
        yield from _paths(inner, path)


def _without(case: Case, path: Path) -> Case | None:
    """Return the case without the value at this path, or None if the path does not exist."""
    smaller = copy.deepcopy(case)
    within: Any = smaller
    for step in path[:-1]:
        try:
            within = within[step]
        except (KeyError, IndexError):
            return None
    try:
        del within[path[-1]]
    except (KeyError, IndexError):
        return None
    return smaller
