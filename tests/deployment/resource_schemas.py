"""CloudFormation's own schemas of its resource types, which cfn-lint installs with sam, and their limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .sam import COMMAND

SCHEMAS = "lib/python3*/site-packages/cfnlint/data/schemas"


@cache
def schema(resource_type: str) -> dict[str, Any]:
    """Read the schema of one type. Skips the test if cfn-lint is not installed."""
    directory = next(COMMAND.parents[1].glob(SCHEMAS), None)
    if directory is None:
        pytest.skip("sam, which brings cfn-lint, is not installed: make tools")
    names = _read(directory / "providers" / "us-east-1.json")
    return _read(directory / "resources" / f"{names[resource_type]}.json")


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def violations(resource_type: str, properties: dict[str, Any]) -> list[str]:
    """Return the places where a value is longer than its type allows, or does not match the pattern."""
    root = schema(resource_type)
    return list(_violations(root, root, properties, resource_type))


def _violations(root: dict[str, Any], found: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if "$ref" in found:
        target: Any = root
        for part in found["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from _violations(root, target, value, path)
        return
    yield from _own_violations(found, value, path)
    if isinstance(value, list):
        for index, member in enumerate(value):
            yield from _violations(root, found.get("items", {}), member, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _violations(root, found.get("properties", {}).get(name, {}), member, f"{path}.{name}")


def _own_violations(found: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) > found.get("maxLength", len(value)):
            yield f"{path}: {len(value)} characters, at most {found['maxLength']}"
        if "pattern" in found and not _matches(found["pattern"], value):
            yield f"{path}: {value[:80]!r} does not match {found['pattern']}"
    elif isinstance(value, list) and len(value) > found.get("maxItems", len(value)):
        yield f"{path}: {len(value)} members, at most {found['maxItems']}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:  # the pattern has another regex syntax
        return True
