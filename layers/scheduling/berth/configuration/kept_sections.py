"""The sections of the applied document that stay in force if the document as a whole cannot be loaded.

They configure which resources are counted, which pods bind binds, and whether gangs are placed as a whole. With a
document that counts less or binds more, a resource could be assigned twice, and excluded pods could be bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from berth.scheduling.configuration.document import BerthConfiguration, BindConfiguration
from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.managed_resources.configuration import ManagedResources
from berth.scheduling.objects import UnreadableObject

# A document may spell a field with its alias or with its Python name.
_BINDS = ("bind", "gangs")
_RESOURCES = ("managedResources", "managed_resources")


@dataclass(frozen=True, slots=True)
class KeptSections:
    """The sections that stay in force. resources: None if only the resources' names can be read, for example because
    the document is of a later release."""

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
    """Read the sections of a document that cannot be loaded as a whole. UnreadableObject: `cause` is the unreadable
    part."""
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
    """Validate these sections as JSON: validation of Python objects is stricter. Raises ValidationError."""
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
