"""The sections of the applied document that stay in force if the document as a whole cannot be loaded.

They configure which resources are counted, which pods bind binds, and whether gangs are placed as a whole. With a
document that counts less or binds more, a resource could be assigned twice, and excluded pods could be bound.
"""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import UnreadableObject

_FIELDS_OF = {"which pods it binds": ("bind", "gangs"), "what it counts": ("managed_resources",)}


def kept_sections(document: str) -> dict[str, object] | UnreadableObject:
    """Return the fields of a document that cannot be loaded as a whole, by their Python names. UnreadableObject:
    `cause` is the unreadable part."""
    try:
        content = from_json(document)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return UnreadableObject("what it counts and binds")
    kept: dict[str, object] = {}
    for part, fields in _FIELDS_OF.items():
        # A document may spell a field with its alias or with its Python name.
        spelled = {name for each in fields for name in (each, BerthConfiguration.model_fields[each].alias)}
        try:
            # Validate JSON: validation of Python objects is stricter.
            read = BerthConfiguration.model_validate_json(to_json({k: v for k, v in content.items() if k in spelled}))
        except ValidationError:
            return UnreadableObject(part)
        kept |= {each: getattr(read, each) for each in fields}
    return kept
