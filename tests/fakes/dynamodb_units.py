"""DynamoDB's rules for the size of an item and for its read and write units.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KB = 1024
READ_UNIT = 4 * KB


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the size in bytes: names and values of all attributes."""
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def value_size(value: Mapping[str, Any]) -> int:
    """Return the size in bytes of one attribute's value, as boto3 writes it."""
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "B":
            return len(content)
        case "N":
            # About one byte for two digits plus one or two bytes.
            return len(content.replace(".", "").replace("-", "")) // 2 + 2
        case "NULL" | "BOOL":
            return 1
        case "M":
            return 3 + len(content) + item_size(content)
        case "L":
            return 3 + sum(1 + value_size(each) for each in content)
        case _:
            raise ValueError(f"unknown size of an attribute of kind {kind}")


def write_units(size: int) -> int:
    return -(-size // KB)


def read_units(size: int) -> int:
    """Return the units of a consistent read of this many bytes; an eventually consistent read costs half."""
    return max(1, -(-size // READ_UNIT))
