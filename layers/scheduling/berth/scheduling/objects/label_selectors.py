"""Reading label selectors."""

from __future__ import annotations

from berth.scheduling.objects.reading import an_object, objects, string_map, text, texts
from berth.scheduling.selectors import (
    EVERYTHING,
    LABEL_SELECTOR_OPERATORS,
    NOTHING,
    Invalid,
    LabelSelector,
    Operator,
    Requirement,
    requirement,
)


def read_label_selector(value: object, path: str) -> LabelSelector | Invalid:
    """A metav1.LabelSelector: absent it matches nothing, empty everything. Raises Malformed."""
    if value is None:
        return NOTHING
    obj = an_object(value, path)
    found: list[Requirement | Invalid] = [
        requirement(key, Operator.IN, (label,))
        for key, label in string_map(obj.get("matchLabels"), f"{path}.matchLabels").items()
    ]
    for item in objects(obj.get("matchExpressions"), f"{path}.matchExpressions"):
        operator = text(item.get("operator"), f"{path}.matchExpressions[].operator")
        if operator not in LABEL_SELECTOR_OPERATORS:
            return Invalid(f'"{operator}" is not a valid label selector operator')
        found.append(
            requirement(
                text(item.get("key"), f"{path}.matchExpressions[].key"),
                operator,
                texts(item.get("values"), f"{path}.matchExpressions[].values"),
            )
        )
    requirements: list[Requirement] = []
    for one in found:
        if isinstance(one, Invalid):
            return one
        requirements.append(one)
    return LabelSelector(tuple(requirements)) if requirements else EVERYTHING
