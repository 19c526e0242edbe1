"""CloudFormation's own schemas of its resource types, as cfn-lint brings them with sam."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = "lib/python3*/site-packages/cfnlint/data/schemas"


class NotInstalled(Exception):
    """sam, which brings cfn-lint, is not installed."""


@cache
def _directory() -> Path:
    for found in (PROJECT / ".tools" / "sam").glob(PACKAGE):
        return found
    raise NotInstalled("sam, which brings cfn-lint, is not installed: make tools")


@cache
def _names() -> dict[str, str]:
    found: dict[str, str] = json.loads((_directory() / "providers" / "us-east-1.json").read_text())
    return found


@cache
def schema(resource_type: str) -> dict[str, Any]:
    """Of one type. Raises NotInstalled."""
    found: dict[str, Any] = json.loads((_directory() / "resources" / f"{_names()[resource_type]}.json").read_text())
    return found


def permissions(resource_type: str) -> frozenset[str]:
    """The actions of all handlers of a type but that which lists resources outside of a stack."""
    handlers = schema(resource_type).get("handlers", {})
    return frozenset(
        action for name, handler in handlers.items() if name != "list" for action in handler.get("permissions", [])
    )
