"""Translates a NodeWrite into the expressions of an UpdateItem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from berth.ledger.nodes.dynamodb_item import SCHEMA_VERSION, entry_value, node_key, number
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, PoolChange

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

# All names have placeholders: DynamoDB reserves about 570 words, and expressions cannot contain pools or UIDs.
_ATTRIBUTES = {
    "#a": "avail",
    "#o": "owed",
    "#c": "capacity",
    "#e": "entries",
    "#t": "attempt",
    "#s": "state",
    "#r": "oldestReader",
}


@dataclass(slots=True)
class Expressions:
    """The expressions of one request."""

    condition: str = ""
    update: str = ""
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, UniversalAttributeValueTypeDef] = field(default_factory=dict)

    def value(self, value: UniversalAttributeValueTypeDef) -> str:
        name = f":{len(self.values)}"
        self.values[name] = value
        return name


def update_request(owner: str, change: NodeWrite) -> dict[str, Any]:
    """Return the arguments of an UpdateItem, or of an Update in a transaction, without the table."""
    built = expressions(change)
    return {
        "Key": node_key(owner),
        "UpdateExpression": built.update,
        "ConditionExpression": built.condition,
        "ExpressionAttributeNames": built.names,
        "ExpressionAttributeValues": built.values,
    }


def expressions(change: NodeWrite) -> Expressions:
    entries = [(f"#u{index}", entry) for index, entry in enumerate(change.entries)]
    built = Expressions(names={name: entry.uid for name, entry in entries})
    built.names |= {f"#p{index}": pool for index, pool in enumerate(change.pools)}
    pools = [(f"#p{index}", pool) for index, pool in enumerate(change.pools.values())]
    conditions = [
        "attribute_exists(#a)",
        # Require that this release may write the item, because bind writes before it reads.
        f"(attribute_not_exists(#r) OR #r <= {built.value(number(SCHEMA_VERSION))})",
        *(condition for name, entry in entries for condition in _entry_conditions(built, name, entry)),
        *(condition for name, pool in pools for condition in _pool_conditions(built, name, pool)),
    ]
    assignments = [assignment for name, pool in pools for assignment in _assignments(built, name, pool)]
    assignments += [
        f"#e.{name} = {built.value(entry_value(entry.after))}" for name, entry in entries if entry.after is not None
    ]
    if change.epoch is not None:
        built.names["#w"] = "epoch"
        mine = built.value(number(change.epoch))
        conditions.append(f"#w <= {mine}")
        assignments.append(f"#w = {mine}")
    built.condition = " AND ".join(conditions)
    built.update = f"SET {', '.join(assignments)}" if assignments else ""
    removed = [f"#e.{name}" for name, entry in entries if entry.after is None]
    if removed:
        built.update += f" REMOVE {', '.join(removed)}"
    text = built.condition + built.update
    built.names |= {name: attribute for name, attribute in _ATTRIBUTES.items() if name in text}
    return built


def _entry_conditions(built: Expressions, name: str, change: EntryChange) -> Iterator[str]:
    if change.before is None:
        yield f"attribute_not_exists(#e.{name})"
    else:
        yield f"#e.{name}.#t = {built.value({'S': change.before.attempt})}"
        yield f"#e.{name}.#s = {built.value({'S': change.before.state.value})}"


def _pool_conditions(built: Expressions, name: str, change: PoolChange) -> Iterator[str]:
    if change.min_avail > 0:
        yield f"#a.{name} >= {built.value(number(change.min_avail))}"
    for attribute, wanted in (
        ("#a", change.expected_avail),
        ("#o", change.expected_owed),
        ("#c", change.expected_capacity),
    ):
        if wanted is not None:
            path = f"{attribute}.{name}"
            same = f"{path} = {built.value(number(wanted))}"
            yield same if wanted else f"(attribute_not_exists({path}) OR {same})"


def _assignments(built: Expressions, name: str, change: PoolChange) -> Iterator[str]:
    for attribute, delta in (("#a", change.avail), ("#o", change.owed), ("#c", change.capacity)):
        if delta:
            path = f"{attribute}.{name}"
            yield f"{path} = if_not_exists({path}, {built.value(number(0))}) + {built.value(number(delta))}"
