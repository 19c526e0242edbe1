"""KubeSchedulerConfigurations with something wrong in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
Change = Callable[[Document], None]


def entry(**fields: object) -> Change:
    """Of the first extender; None takes a field out."""

    def change(document: Document) -> None:
        found = document["extenders"][0]
        found |= fields
        for name in [name for name, value in fields.items() if value is None]:
            del found[name]

    return change


def tls(**fields: object) -> Change:
    """Of its tlsConfig; None takes a field out."""

    def change(document: Document) -> None:
        found = document["extenders"][0]["tlsConfig"]
        found |= fields
        for name in [name for name, value in fields.items() if value is None]:
            del found[name]

    return change


def one_more(**fields: object) -> Change:
    """An extender beside the first."""
    return lambda document: document["extenders"].append(fields)


def top(**fields: object) -> Change:
    """Of the document itself."""
    return lambda document: document.update(fields)
