"""One of the two copies of the applied document: an item `configuration` in the cache table and in the ledger's table.

Releases without the ledger's copy write and read only `document` of the cache's item, and they do not read such an item
in the ledger's table.

Kept sections configure which resources are counted, which pods bind binds, and whether gangs are placed as a whole.
With a document that counts less or binds more, a resource could be assigned twice, and excluded pods could be bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from berth.dynamodb import TableErrors, TableUnavailable
from berth.scheduling.configuration.document import BerthConfiguration, BindConfiguration
from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.managed_resources.configuration import ManagedResources
from berth.scheduling.objects import UnreadableObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

    Item = Mapping[str, AttributeValueTypeDef]
    Attributes = dict[str, UniversalAttributeValueTypeDef]

# A document has a field by its alias or by its name.
_BINDS = ("bind", "gangs")
_RESOURCES = ("managedResources", "managed_resources")


@dataclass(frozen=True, slots=True)
class KeptSections:
    """resources: None if only their names can be read, for example because a later release describes them."""

    bind: BindConfiguration
    gangs: GangsConfiguration
    resources: ManagedResources | None
    names: frozenset[str] = frozenset()

    def put_into(self, configuration: BerthConfiguration) -> BerthConfiguration | None:
        """Return the configuration with these sections; None if it does not count all of the resources."""
        resources = self.resources
        if resources is None:
            if not self.names.issubset(configuration.counting.resources):
                return None
            resources = configuration.managed_resources
        return configuration.model_copy(update={"bind": self.bind, "gangs": self.gangs, "managed_resources": resources})


def kept_sections(document: str) -> KeptSections | UnreadableObject:
    """Read them from a document that cannot be loaded as a whole. UnreadableObject: its cause is the unknown part."""
    try:
        content = from_json(document)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return UnreadableObject("what it counts and binds")
    try:
        binds = _read(content, _BINDS)
    except ValidationError:
        return UnreadableObject("which pods it binds")
    try:
        return KeptSections(binds.bind, binds.gangs, _read(content, _RESOURCES).managed_resources)
    except ValidationError:
        names = [*_names(content[key] for key in _RESOURCES if key in content)]
    if not all(names):
        return UnreadableObject("what it counts")
    return KeptSections(binds.bind, binds.gangs, None, frozenset(name for name in names if name))


def _read(content: dict[str, object], keys: Iterable[str]) -> BerthConfiguration:
    """Raises ValidationError. As JSON: validation of Python's types is stricter."""
    return BerthConfiguration.model_validate_json(to_json({key: content[key] for key in keys if key in content}))


def _names(lists: Iterable[object]) -> Iterator[str | None]:
    """Yield the names of the resources; None for a resource without a name."""
    for resources in lists:
        if not isinstance(resources, list):
            yield None
            continue
        for each in resources:
            name = each.get("name") if isinstance(each, dict) else None
            yield name if isinstance(name, str) else None


SCHEMA_VERSION = 1
"""The schema of a copy with a sequence. Every change of the item raises it, but for an attribute that other releases
may leave out, such as `pluginVersion`."""

OLDEST_READER = 1
"""The oldest schema whose readers may use the copies that this release writes."""

PARTITION = "configuration"
CACHE_KEY: Attributes = {"pk": {"S": PARTITION}, "sk": {"N": "0"}}
LEDGER_KEY: Attributes = {"pk": {"S": PARTITION}, "sk": {"S": "applied"}}


@dataclass(frozen=True, slots=True)
class AppliedDocument:
    """The document as JSON.

    sequence: higher for each document that was applied. 0: a release without the ledger's copy applied it.
    stops_counting: the user who applied it confirmed that counting ends. plugin_version: the version of the custom
    plugins that it was tried with; empty if it does not use any, or if that is unknown.
    """

    document: str
    sequence: int = 0
    stops_counting: bool = False
    plugin_version: str = ""


class DocumentCopy:
    """A copy of the document. Stateless; threads may share the client. Every method may raise TableUnavailable."""

    def __init__(self, client: DynamoDBClient, key: Attributes, errors: TableErrors) -> None:
        self._client = client
        self._key = key
        self._errors = errors

    def read(self) -> AppliedDocument | None:
        """Read the copy consistently; None if there is no copy."""
        with self._errors.errors():
            answer = self._client.get_item(TableName=self._errors.table, Key=self._key, ConsistentRead=True)
        item: Item = answer.get("Item", {})
        if "document" not in item:
            return None
        if int(item.get("oldestReader", {"N": "0"})["N"]) > SCHEMA_VERSION:
            raise TableUnavailable(
                f"{self._errors.purpose} table {self._errors.table}: a later release applied the configuration; apply "
                "it again with this release"
            )
        return AppliedDocument(
            item["document"]["S"],
            int(item.get("sequence", {"N": "0"})["N"]),
            item.get("stopsCounting", {}).get("BOOL", False),
            item.get("pluginVersion", {}).get("S", ""),
        )

    def put(self, applied: AppliedDocument) -> None:
        with self._errors.errors():
            self._client.put_item(TableName=self._errors.table, Item=self._item(applied))

    def replace(self, applied: AppliedDocument, seen: AppliedDocument | None) -> bool:
        """Write the copy unless another one than `seen`, by its sequence, has been written. False: it has."""
        write = partial(
            self._client.put_item,
            TableName=self._errors.table,
            Item=self._item(applied),
            **_condition_that_it_is_still(seen),
        )
        return self._errors.is_written(write)

    def _item(self, applied: AppliedDocument) -> Attributes:
        item = self._key | {"document": {"S": applied.document}}
        if applied.sequence:
            item |= {
                "sequence": {"N": str(applied.sequence)},
                "schema": {"N": str(SCHEMA_VERSION)},
                "oldestReader": {"N": str(OLDEST_READER)},
            }
        if applied.plugin_version:
            item |= {"pluginVersion": {"S": applied.plugin_version}}
        return item | ({"stopsCounting": {"BOOL": True}} if applied.stops_counting else {})


def _condition_that_it_is_still(seen: AppliedDocument | None) -> dict[str, Any]:
    if seen is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    if seen.sequence:
        return {
            "ConditionExpression": "#sequence = :sequence",
            "ExpressionAttributeNames": {"#sequence": "sequence"},
            "ExpressionAttributeValues": {":sequence": {"N": str(seen.sequence)}},
        }
    return {
        "ConditionExpression": "attribute_not_exists(#sequence) AND #document = :document",
        "ExpressionAttributeNames": {"#sequence": "sequence", "#document": "document"},
        "ExpressionAttributeValues": {":document": {"S": seen.document}},
    }
