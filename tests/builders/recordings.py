"""Items of a table in a file, as a release wrote them to the table: DynamoDB's JSON, bytes in base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, Literal

from mypy_boto3_dynamodb.client import DynamoDBClient

from tests.builders.tables import create_table

RECORDED = Path(__file__).parents[1] / "recorded"
RELEASES = sorted(
    (path.name for path in RECORDED.iterdir() if (path / "cache.json").exists()),
    key=lambda release: tuple(map(int, release.split("."))),
)
"""The recorded releases, the latest release last."""

_NUMBERS = count(1)

Item = dict[str, Any]


@contextmanager
def table_of(client: DynamoDBClient, items: Iterable[Item], sort_key: Literal["N", "S"]) -> Iterator[str]:
    """Create a table with exactly these items, and yield its name."""
    name = f"recorded-{next(_NUMBERS)}"
    create_table(client, name, sort_key)
    for item in items:
        client.put_item(TableName=name, Item=item)
    yield name
    client.delete_table(TableName=name)


def items_of(client: DynamoDBClient, table: str) -> list[Item]:
    found: list[Item] = list(map(_stored, client.scan(TableName=table, ConsistentRead=True)["Items"]))
    return sorted(found, key=lambda item: (item["pk"]["S"], str(item["sk"])))


def recorded(release: str, table: str) -> list[Item]:
    """Return the items that this release left in a table (cache, ledger)."""
    found: list[Item] = json.loads((RECORDED / release / f"{table}.json").read_text(), object_hook=_with_bytes)
    return list(map(_stored, found))


def record(release: str, table: str, items: list[Item]) -> None:
    path = RECORDED / release / f"{table}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(item, default=lambda data: base64.b64encode(data).decode()) for item in items]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _stored(value: Any) -> Any:
    """Normalize a value as DynamoDB does, which does not keep the notation of numbers: 1.500 is read as 1.5."""
    match value:
        case {"N": str(number)}:
            return {"N": f"{Decimal(number).normalize():f}"}
        case Mapping():
            return {name: _stored(each) for name, each in value.items()}
        case list():
            return list(map(_stored, value))
    return value


def _with_bytes(found: dict[str, Any]) -> dict[str, Any]:
    if found.keys() == {"B"}:
        return {"B": base64.b64decode(found["B"])}
    return found
