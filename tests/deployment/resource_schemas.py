"""The limits in CloudFormation's own schemas of its resource types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tools.deployer_policy import schemas


def schema(resource_type: str) -> dict[str, Any]:
    """Of one type. Skips the test where cfn-lint is not set up."""
    try:
        return schemas.schema(resource_type)
    except schemas.NotInstalled as error:
        pytest.skip(str(error))


def violations(resource_type: str, properties: dict[str, Any]) -> list[str]:
    """Where a value is longer than its type allows, or does not match the pattern."""
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
    except re.error:  # a pattern of another dialect
        return True
