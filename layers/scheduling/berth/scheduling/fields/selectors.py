"""Label selectors, which are parsed once and matched often."""

from __future__ import annotations

from dataclasses import dataclass, field

from berth.scheduling.fields.reading import read_object, read_object_list, read_string, read_string_map, read_strings
from berth.scheduling.fields.requirement_index import RequirementIndex
from berth.scheduling.fields.requirements import (
    FEW,
    LABEL_SELECTOR_OPERATORS,
    InvalidRequirement,
    Labels,
    Operator,
    Requirement,
    requirement,
)


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """ANDed requirements. An empty selector matches everything; `nothing` (an absent selector) never matches."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False
    _index: RequirementIndex | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.requirements) > FEW:
            object.__setattr__(self, "_index", RequirementIndex([self.requirements]))

    @property
    def everything(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        if self._index is not None:
            return not self.nothing and bool(self._index.matching(labels))
        return not self.nothing and all(requirement.matches(labels) for requirement in self.requirements)

    def narrowed(self, requirements: tuple[Requirement, ...]) -> LabelSelector:
        return self if self.nothing else LabelSelector(self.requirements + requirements)


NOTHING = LabelSelector(nothing=True)
EVERYTHING = LabelSelector()


def read_label_selector(value: object, path: str) -> LabelSelector | InvalidRequirement:
    """Read a metav1.LabelSelector. An absent selector never matches; an empty selector always does. Raises
    MalformedField."""
    if value is None:
        return NOTHING
    obj = read_object(value, path)
    found: list[Requirement | InvalidRequirement] = [
        requirement(key, Operator.IN, (label,))
        for key, label in read_string_map(obj.get("matchLabels"), f"{path}.matchLabels").items()
    ]
    for item in read_object_list(obj.get("matchExpressions"), f"{path}.matchExpressions"):
        operator = read_string(item.get("operator"), f"{path}.matchExpressions[].operator")
        if operator not in LABEL_SELECTOR_OPERATORS:
            return InvalidRequirement(f'"{operator}" is not a valid label selector operator')
        found.append(
            requirement(
                read_string(item.get("key"), f"{path}.matchExpressions[].key"),
                operator,
                read_strings(item.get("values"), f"{path}.matchExpressions[].values"),
            )
        )
    requirements: list[Requirement] = []
    for one in found:
        if isinstance(one, InvalidRequirement):
            return one
        requirements.append(one)
    return LabelSelector(tuple(requirements)) if requirements else EVERYTHING
