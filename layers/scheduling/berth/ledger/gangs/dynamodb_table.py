"""The table of gangs in DynamoDB: a partition of the ledger's table. The client determines timeouts and retries.

Cost: a member's intent is one UpdateItem on the gang's item, whose size grows by about 230 bytes a member. So n members
together write about n²/9 KB, and DynamoDB limits an item to 1,000 write units a second: 140 members take 2.5 s, 450
take 25 s. A member that waits reads the domain's item, one read unit each time. A commit costs double write units for
each node's item, the gang's item and the domain's item.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb import (
    Assignments,
    ItemHeld,
    TableAdapter,
    TableThrottled,
)
from berth.ledger.gangs.dynamodb_item import (
    DOMAIN_KEY,
    GANG_PREFIX,
    MEMBERS_BYTES,
    PARTITION,
    domain_item,
    gang_item,
    gang_key,
    intent_value,
    member_bytes,
    read_domain,
    read_gang,
)
from berth.ledger.gangs.item import Domain, GangItem, GangState, Intent
from berth.ledger.gangs.table import GangTable, LedgersRead, NotTransacted, Transaction
from berth.ledger.nodes.dynamodb_item import node_key, node_of, number, read_node
from berth.ledger.nodes.dynamodb_write import update_request
from berth.scheduling.gangs.gang import GangKey

_NAMES = {"#state": "state", "#round": "round", "#version": "version", "#intents": "intents"}


class DynamoDBGangTable(TableAdapter, GangTable):
    """The table of gangs. Stateless; the client may be shared between threads."""

    def gangs(self) -> Sequence[GangItem]:
        items = self._items(
            "query",
            KeyConditionExpression="pk = :gang AND begins_with(sk, :prefix)",
            ExpressionAttributeValues={":gang": {"S": PARTITION}, ":prefix": {"S": GANG_PREFIX}},
        )
        with self._well_formed("an item of a gang"):
            return sorted(map(read_gang, items), key=lambda item: item.key)

    def gang(self, key: GangKey) -> GangItem | None:
        item = self._item(gang_key(key))
        with self._well_formed("an item of a gang"):
            return None if item is None else read_gang(item)

    def most_members(self, intent: Intent) -> int:
        return MEMBERS_BYTES // member_bytes(intent)

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        condition = {"ConditionExpression": "attribute_not_exists(pk)"} if seen is None else _version_is(seen)
        return self._is_written(self._client.put_item, Item=gang_item(item), **condition)

    def delete(self, seen: GangItem) -> bool:
        return self._is_written(self._client.delete_item, Key=gang_key(seen.key), **_version_is(seen))

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        return self._update_open(
            key,
            round_,
            "SET #intents.#uid = :intent ADD #version :one",
            names={"#uid": intent.pod.uid},
            values={":intent": intent_value(intent), ":most": number(self.most_members(intent))},
            condition=" AND (attribute_exists(#intents.#uid) OR size(#intents) < :most)",
        )

    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        return self._update_open(
            key,
            round_,
            "REMOVE #intents.#uid ADD #version :one",
            names={"#uid": uid, "#attempt": "attempt"},
            values={":attempt": {"S": attempt}},
            condition=" AND #intents.#uid.#attempt = :attempt",
        )

    def domain(self) -> Domain:
        item = self._item(DOMAIN_KEY)
        with self._well_formed("an item of a gang"):
            return Domain() if item is None else read_domain(item)

    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        return self._is_written(self._client.put_item, Item=domain_item(domain), **_domain_is(seen))

    def read_ledgers(self, nodes: Sequence[str]) -> LedgersRead:
        request: Any = {self._table: {"Keys": [node_key(node) for node in nodes], "ConsistentRead": True}}
        with self._errors.errors():
            answer: Any = self._client.batch_get_item(RequestItems=request)
        left = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
        if len(left) == len(nodes):
            # An immediate retry would not help.
            raise TableThrottled(f"ledger table {self._table}: throttled")
        with self._well_formed("an item of a gang"):
            found = map(read_node, answer["Responses"].get(self._table, []))
            return LedgersRead({ledger.owner: ledger for ledger in found}, [node_of(key) for key in left])

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        seen, after, closes = transaction.seen, transaction.after, transaction.closes
        actions: list[Any] = [self._gang_action(seen, after)]
        if closes is not None:
            condition = _domain_is(closes)
            close = {"TableName": self._table, "Key": DOMAIN_KEY, "UpdateExpression": "REMOVE #open", **condition}
            actions.append({"Update": close})
        table = {"TableName": self._table}
        actions += ({"Update": table | update_request(*each)} for each in transaction.ledgers.items())
        failed = self._errors.transact(lambda: self._client.transact_write_items(TransactItems=actions))
        if failed is None:
            return None
        has_domain = closes is not None
        of_ledgers = zip(transaction.ledgers, failed[2 if has_domain else 1 :], strict=True)
        return NotTransacted(
            gang_changed=failed[0],
            domain_changed=has_domain and failed[1],
            owners=tuple(owner for owner, fails in of_ledgers if fails),
        )

    def _gang_action(self, seen: GangItem, after: GangItem | None) -> dict[str, Any]:
        if after is None:
            return {"ConditionCheck": {"TableName": self._table, "Key": gang_key(seen.key), **_version_is(seen)}}
        update = Assignments.of({name: value for name, value in gang_item(after).items() if name not in ("pk", "sk")})
        action, condition = update.action(self._table, gang_key(seen.key)), _version_is(seen)
        action["Update"]["ConditionExpression"] = condition["ConditionExpression"]
        action["Update"]["ExpressionAttributeValues"] |= condition["ExpressionAttributeValues"]
        return action

    def _update_open(
        self, key: GangKey, round_: int, update: str, *, names: dict[str, str], values: Any, condition: str = ""
    ) -> GangItem | None:
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=gang_key(key),
                UpdateExpression=update,
                ConditionExpression=f"#state = :open AND #round = :round{condition}",
                ExpressionAttributeNames={**_NAMES, **names},
                ExpressionAttributeValues={
                    **values,
                    ":open": {"S": GangState.OPEN.value},
                    ":round": number(round_),
                    ":one": number(1),
                },
                ReturnValues="ALL_NEW",
            )
        except ClientError as error:
            with suppress(ItemHeld):
                self._errors.refused(error)
            return None
        except BotoCoreError as error:
            raise self._errors.unavailable(error) from error
        with self._well_formed("an item of a gang"):
            return read_gang(answer["Attributes"])


def _version_is(seen: GangItem) -> dict[str, Any]:
    return {
        "ConditionExpression": "#version = :seen",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": {":seen": number(seen.version)},
    }


def _domain_is(seen: Domain) -> dict[str, Any]:
    if seen == Domain():
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    condition, values = "#fence = :fence AND attribute_not_exists(#open)", {":fence": number(seen.fence)}
    if seen.open is not None:
        condition, values = "#fence = :fence AND #open = :open", {**values, ":open": {"S": str(seen.open.key)}}
    return {
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {"#fence": "fence", "#open": "open"},
        "ExpressionAttributeValues": values,
    }
