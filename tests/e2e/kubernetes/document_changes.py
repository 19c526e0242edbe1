"""Changes of a KubeSchedulerConfiguration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
Change = Callable[[Document], None]


def extender(**fields: object) -> Change:
    """Set fields of the first extender; None removes a field."""

    def change(document: Document) -> None:
        found = document["extenders"][0]
        found |= fields
        for name in [name for name, value in fields.items() if value is None]:
            del found[name]

    return change


def tls(**fields: object) -> Change:
    """Set fields of its tlsConfig; None removes a field."""

    def change(document: Document) -> None:
        found = document["extenders"][0]["tlsConfig"]
        found |= fields
        for name in [name for name, value in fields.items() if value is None]:
            del found[name]

    return change


def add_extender(**fields: object) -> Change:
    """Add another extender."""
    return lambda document: document["extenders"].append(fields)
