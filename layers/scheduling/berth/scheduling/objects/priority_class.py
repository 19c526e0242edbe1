"""PriorityClasses: names for priorities."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.fields.reading import (
    MalformedField,
    UnreadableObject,
    name_or_empty,
    read_boolean,
    read_integer,
    read_object,
)


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A scheduling/v1.PriorityClass."""

    name: str
    value: int
    global_default: bool = False
    preemption_policy: str = ""


def read_priority_class(obj: object) -> PriorityClass | UnreadableObject:
    """Read a scheduling/v1.PriorityClass."""
    try:
        whole = read_object(obj, "PriorityClass")
        metadata = read_object(whole.get("metadata"), "PriorityClass.metadata")
        return PriorityClass(
            name_or_empty(metadata.get("name")),
            read_integer(whole.get("value"), "PriorityClass.value") or 0,
            read_boolean(whole.get("globalDefault"), "PriorityClass.globalDefault"),
            name_or_empty(whole.get("preemptionPolicy")),
        )
    except MalformedField as error:
        return UnreadableObject(str(error))
