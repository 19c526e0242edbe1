"""The log of announcements in DynamoDB: a partition of the ledger's table.

| attribute | content |
|---|---|
| pk | announced |
| sk | the position, with leading zeros so that it sorts |
| attempt, resourceVersion, until, withdrawn | see Announcement |
| pod | its content, JSON |

A begun bind has the sort key begun# and its place, which sorts behind every position, and the attributes podUID, node
and since.

Timeouts and retries are those of the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import orjson

from berth.dynamodb import TableUnavailable, ledger_table_errors
from berth.ledger.announcements import Announcement, AnnouncementLog, BegunBind, place_of
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod_reading import read_placed_pod

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, QueryInputPaginateTypeDef

    Item = Mapping[str, AttributeValueTypeDef]

PARTITION = "announced"
BEGUN = "begun#"
SCHEMA_VERSION = 1


class DynamoDBAnnouncementLog(AnnouncementLog):
    """Stateless; the client may be shared between threads."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name
        self._errors = ledger_table_errors(table_name)

    def read(self, first: int) -> Sequence[Announcement]:
        return self._read(self._query("sk BETWEEN :position AND :begun", first, {":begun": {"S": BEGUN}}))[0]

    def read_with_begun(self, first: int) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        return self._read(self._query("sk >= :position", first))

    def _read(self, query: QueryInputPaginateTypeDef) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        announcements, begun = [], []
        try:
            for item in self._items(query):
                if item["sk"]["S"].startswith(BEGUN):
                    begun.append(BegunBind(item["podUID"]["S"], item["node"]["S"], float(item["since"]["N"])))
                else:
                    announcements.append(_announcement(item))
        except (KeyError, ValueError) as error:
            raise TableUnavailable(f"ledger table {self._table}: an announcement is malformed ({error})") from error
        return announcements, begun

    def begin(self, bind: BegunBind) -> None:
        item: dict[str, AttributeValueTypeDef] = {
            "pk": {"S": PARTITION},
            "sk": {"S": f"{BEGUN}{place_of(bind):02d}"},
            "podUID": {"S": bind.pod_uid},
            "node": {"S": bind.node},
            "since": {"N": f"{bind.since:.3f}"},
        }
        with self._errors.errors():
            self._client.put_item(TableName=self._table, Item=item)

    def append(self, announcement: Announcement) -> bool:
        write = partial(
            self._client.put_item,
            TableName=self._table,
            Item={
                **_key(announcement.position),
                "schema": {"N": str(SCHEMA_VERSION)},
                "attempt": {"S": announcement.attempt},
                "resourceVersion": {"S": announcement.resource_version},
                "until": {"N": f"{announcement.until:.3f}"},
                "pod": {"B": announcement.content},
            },
            ConditionExpression="attribute_not_exists(pk) OR attempt = :attempt",
            ExpressionAttributeValues={":attempt": {"S": announcement.attempt}},
        )
        return self._errors.is_written(write)

    def withdraw(self, position: int, attempt: str) -> None:
        write = partial(
            self._client.update_item,
            TableName=self._table,
            Key=_key(position),
            UpdateExpression="SET withdrawn = :yes",
            ConditionExpression="attempt = :attempt",
            ExpressionAttributeValues={":yes": {"BOOL": True}, ":attempt": {"S": attempt}},
        )
        self._errors.is_written(write)

    def trim(self, position: int, until: float) -> None:
        query = self._query("sk < :position", position)
        query["ExpressionAttributeNames"] = {"#until": "until"}
        query["ProjectionExpression"] = "pk, sk, #until"
        for item in self._items(query):
            if float(item["until"]["N"]) < until:
                with self._errors.errors():
                    self._client.delete_item(TableName=self._table, Key={"pk": item["pk"], "sk": item["sk"]})

    def _query(
        self, condition: str, position: int, values: Mapping[str, AttributeValueTypeDef] = MappingProxyType({})
    ) -> QueryInputPaginateTypeDef:
        values = {":announced": {"S": PARTITION}, ":position": {"S": _sort_key(position)}, **values}
        return {
            "TableName": self._table,
            "KeyConditionExpression": f"pk = :announced AND {condition}",
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }

    def _items(self, query: QueryInputPaginateTypeDef) -> Iterator[Item]:
        with self._errors.errors():
            for page in self._client.get_paginator("query").paginate(**query):
                yield from page["Items"]


def _sort_key(position: int) -> str:
    return f"{position:015d}"


def _key(position: int) -> dict[str, AttributeValueTypeDef]:
    return {"pk": {"S": PARTITION}, "sk": {"S": _sort_key(position)}}


def _announcement(item: Item) -> Announcement:
    """Read an item. Raises KeyError and ValueError."""
    content = bytes(item["pod"]["B"])
    pod = read_placed_pod(orjson.loads(content))
    if isinstance(pod, UnreadableObject):
        raise ValueError(pod.cause)
    return Announcement(
        position=int(item["sk"]["S"]),
        attempt=item["attempt"]["S"],
        pod=pod,
        content=content,
        resource_version=item["resourceVersion"]["S"],
        until=float(item["until"]["N"]),
        withdrawn=item.get("withdrawn", {}).get("BOOL", False),
    )
