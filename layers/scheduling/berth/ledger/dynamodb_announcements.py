"""The log of announcements in DynamoDB: a partition of the ledger's table.

| attribute | content |
|---|---|
| pk | announced |
| sk | the position, with leading zeros so that it sorts |
| attempt, resourceVersion, until, withdrawn | see Announcement |
| pod | its content, JSON |

The sort key of a bind that has begun is begun# and its slot, which sorts behind every position. The attributes are
podUID, node and since.

The client determines timeouts and retries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import orjson

from berth.dynamodb import TableAdapter
from berth.ledger.announcements import Announcement, AnnouncementLog, BegunBind, place_of
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod_reading import read_placed_pod

if TYPE_CHECKING:
    from berth.dynamodb import Attributes, Item

PARTITION = "announced"
BEGUN = "begun#"
SCHEMA_VERSION = 1


class DynamoDBAnnouncementLog(TableAdapter, AnnouncementLog):
    """The log in DynamoDB. Stateless; the client may be shared between threads."""

    def read(self, first: int) -> Sequence[Announcement]:
        return self._read(_query("sk BETWEEN :position AND :begun", first, {":begun": {"S": BEGUN}}))[0]

    def read_with_begun(self, first: int) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        return self._read(_query("sk >= :position", first))

    def _read(self, query: dict[str, object]) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        announcements, begun = [], []
        with self._well_formed("an announcement"):
            for item in self._items("query", **query):
                if item["sk"]["S"].startswith(BEGUN):
                    begun.append(BegunBind(item["podUID"]["S"], item["node"]["S"], float(item["since"]["N"])))
                else:
                    announcements.append(_announcement(item))
        return announcements, begun

    def begin(self, bind: BegunBind) -> None:
        item: Attributes = {
            "pk": {"S": PARTITION},
            "sk": {"S": f"{BEGUN}{place_of(bind):02d}"},
            "podUID": {"S": bind.pod_uid},
            "node": {"S": bind.node},
            "since": {"N": f"{bind.since:.3f}"},
        }
        with self._errors.errors():
            self._client.put_item(TableName=self._table, Item=item)

    def append(self, announcement: Announcement) -> bool:
        return self._is_written(
            self._client.put_item,
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

    def withdraw(self, position: int, attempt: str) -> None:
        self._is_written(
            self._client.update_item,
            Key=_key(position),
            UpdateExpression="SET withdrawn = :yes",
            ConditionExpression="attempt = :attempt",
            ExpressionAttributeValues={":yes": {"BOOL": True}, ":attempt": {"S": attempt}},
        )

    def trim(self, position: int, until: float) -> None:
        query = _query("sk < :position", position)
        query["ExpressionAttributeNames"] = {"#until": "until"}
        query["ProjectionExpression"] = "pk, sk, #until"
        for item in self._items("query", **query):
            if float(item["until"]["N"]) < until:
                with self._errors.errors():
                    self._client.delete_item(TableName=self._table, Key={"pk": item["pk"], "sk": item["sk"]})


def _query(condition: str, position: int, values: Mapping[str, object] = MappingProxyType({})) -> dict[str, object]:
    return {
        "KeyConditionExpression": f"pk = :announced AND {condition}",
        "ExpressionAttributeValues": {
            ":announced": {"S": PARTITION},
            ":position": {"S": _sort_key(position)},
            **values,
        },
    }


def _sort_key(position: int) -> str:
    return f"{position:015d}"


def _key(position: int) -> Attributes:
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
