"""The items of gangs as DynamoDB stores them, in the ledger's table.

| item | pk | sk |
|---|---|---|
| domain | gang | domain |
| gang | gang | gang#namespace/name |

`topologyKey` of a gang and `topology` of a member exist if the gang has a topology key. The domain's `queue`,
`openedAt` and `minimum` are optional: by default no gang waits, and the open gang was opened long ago with minimum 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.ledger.gangs.item import Claim, Domain, GangItem, GangState, Intent, QueuedGang
from berth.ledger.nodes.dynamodb_item import amounts, number, time
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.objects.pod import PodKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

    from berth.dynamodb import Attributes, Item

PARTITION = "gang"
GANG_PREFIX = "gang#"
DOMAIN_KEY: Attributes = {"pk": {"S": PARTITION}, "sk": {"S": "domain"}}
SCHEMA_VERSION = 1

MEMBERS_BYTES = 400_000
"""The limit for the members in an item of at most 409,600 bytes. The rest is for the other attributes."""


def gang_key(key: GangKey) -> Attributes:
    return {"pk": {"S": PARTITION}, "sk": {"S": f"{GANG_PREFIX}{key}"}}


# ---------------------------------------------------------------------------------------------------------------- write


def gang_item(item: GangItem) -> Attributes:
    of_topology: Attributes = {"topologyKey": {"S": item.topology_key}} if item.topology_key else {}
    return (
        gang_key(item.key)
        | of_topology
        | {
            "schema": number(SCHEMA_VERSION),
            "state": {"S": item.state.value},
            "round": number(item.round),
            "minimum": number(item.minimum),
            "priority": number(item.priority),
            "version": number(item.version),
            "openedAt": time(item.opened_at),
            "changedAt": time(item.changed_at),
            "intents": {"M": {uid: intent_value(intent) for uid, intent in item.intents.items()}},
            "coordinator": {"S": item.coordinator},
            "reason": {"S": item.reason},
        }
    )


def intent_value(intent: Intent) -> UniversalAttributeValueTypeDef:
    """Return the value under the pod's UID. It is compact, because a gang may have many members: it does not contain
    their namespace."""
    value: Attributes = {
        "name": {"S": intent.pod.name},
        "node": {"S": intent.node},
        "attempt": {"S": intent.attempt},
        "until": time(intent.until),
    }
    if intent.demands:
        value["demands"] = {
            "M": {
                demand.resource: {"S": f"{demand.amount}%"} if demand.percent else number(demand.amount)
                for demand in intent.demands
            }
        }
    if intent.floating:
        value["floating"] = amounts(intent.floating)
    if intent.shares:
        value["shares"] = amounts(intent.shares)
    if intent.topology:
        value["topology"] = {"S": intent.topology}
    return {"M": value}


def member_bytes(intent: Intent) -> int:
    """Return the bytes of a member and its shares in the gang's item, by DynamoDB's rule for item sizes, rounded up."""
    texts = (intent.pod.uid, intent.pod.name, intent.node, intent.attempt, "name", "node", "attempt", "until")
    found = sum(len(text.encode()) for text in texts) + _MAP_BYTES + _NUMBER_BYTES
    if intent.topology:
        found += len("topology") + len(intent.topology.encode()) + 1
    if intent.demands:
        found += len("demands") + len("shares") + 2 * _MAP_BYTES
    if intent.floating:
        pools = sum(len(pool.encode()) + len(str(amount)) // 2 + 3 for pool, amount in intent.floating.items())
        found += len("floating") + _MAP_BYTES + 2 * pools
    for demand in intent.demands:
        amount = _NUMBER_BYTES if demand.percent else len(str(demand.amount)) // 2 + 2
        found += 2 * (len(demand.resource) + amount + 1) + _INDEX_BYTES
    return found


_NUMBER_BYTES = 12
"""Bytes of a number of up to 19 digits: a time, or an amount that is requested as a percentage and not computed yet."""

_MAP_BYTES = 8
"""Bytes of a map with up to five entries, without its names and values."""

_INDEX_BYTES = 4
"""Bytes of a device's index in the name of its pool."""


def domain_item(domain: Domain) -> Attributes:
    item = DOMAIN_KEY | {"schema": number(SCHEMA_VERSION), "fence": number(domain.fence)}
    if domain.open is not None:
        item |= {
            "open": {"S": str(domain.open.key)},
            "priority": number(domain.open.priority),
            "until": time(domain.open.until),
            "openedAt": time(domain.open.opened_at),
        }
        if domain.open.minimum > 1:
            item["minimum"] = number(domain.open.minimum)
    if domain.resting is not None:
        item |= {"resting": {"S": str(domain.resting)}, "restUntil": time(domain.rest_until)}
    if domain.queue:
        item["queue"] = {
            "M": {
                str(key): {"M": {"members": number(queued.members), "until": time(queued.until)}}
                for key, queued in domain.queue.items()
            }
        }
    return item


# ----------------------------------------------------------------------------------------------------------------- read


# These functions raise KeyError or ValueError for an item that Berth did not write.


def read_gang(item: Item) -> GangItem:
    key = _key(item["sk"]["S"].removeprefix(GANG_PREFIX))
    return GangItem(
        key=key,
        state=GangState(item["state"]["S"]),
        round=int(item["round"]["N"]),
        minimum=int(item["minimum"]["N"]),
        priority=int(item["priority"]["N"]),
        version=int(item["version"]["N"]),
        opened_at=float(item["openedAt"]["N"]),
        changed_at=float(item["changedAt"]["N"]),
        intents={uid: _intent(key, uid, value["M"]) for uid, value in item["intents"]["M"].items()},
        coordinator=item["coordinator"]["S"],
        reason=item["reason"]["S"],
        topology_key=item.get("topologyKey", {"S": ""})["S"],
    )


def read_domain(item: Item) -> Domain:
    claim = None
    if "open" in item:
        opened_at = float(item.get("openedAt", {"N": "0"})["N"])
        key, minimum = _key(item["open"]["S"]), int(item.get("minimum", {"N": "1"})["N"])
        claim = Claim(key, int(item["priority"]["N"]), float(item["until"]["N"]), opened_at, minimum)
    resting = _key(item["resting"]["S"]) if "resting" in item else None
    rest_until = float(item.get("restUntil", {"N": "0"})["N"])
    queue = {
        _key(key): QueuedGang(int(value["M"]["members"]["N"]), float(value["M"]["until"]["N"]))
        for key, value in item.get("queue", {"M": {}})["M"].items()
    }
    return Domain(claim, int(item["fence"]["N"]), resting, rest_until, queue)


def _intent(key: GangKey, uid: str, value: Item) -> Intent:
    demands = [
        Demand(resource, int(amount["N"])) if "N" in amount else Demand(resource, int(amount["S"][:-1]), percent=True)
        for resource, amount in value.get("demands", {"M": {}})["M"].items()
    ]
    return Intent(
        PodKey(key.namespace, value["name"]["S"], uid),
        value["node"]["S"],
        value["attempt"]["S"],
        float(value["until"]["N"]),
        tuple(sorted(demands, key=lambda demand: demand.resource)),
        _amounts(value, "floating"),
        _amounts(value, "shares"),
        value.get("topology", {"S": ""})["S"],
    )


def _amounts(value: Item, name: str) -> Shares:
    return {pool: int(amount["N"]) for pool, amount in value.get(name, {"M": {}})["M"].items()}


def _key(text: str) -> GangKey:
    namespace, _, name = text.partition("/")
    return GangKey(namespace, name)
