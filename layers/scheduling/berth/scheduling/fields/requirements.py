"""Requirements on labels, as in label selectors and node selectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Labels = Mapping[str, str]

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_LABEL_VALUE = re.compile(rf"({_NAME})?", re.ASCII)
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_KEY = re.compile(rf"((?P<prefix>{_DNS_LABEL}(\.{_DNS_LABEL})*)/)?{_NAME}", re.ASCII)
_MAX_PREFIX = 253
_MAX_KEY = _MAX_PREFIX + 1 + 63
_INTEGER = re.compile(r"[-+]?[0-9]{1,63}", re.ASCII)


class Operator(StrEnum):
    """The operators of node selectors. Label selectors have only the first four."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_OPERATORS = {operator.value: operator for operator in Operator}
LABEL_SELECTOR_OPERATORS = frozenset({Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST})


@dataclass(frozen=True, slots=True)
class InvalidRequirement:
    cause: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on a label. `bound` is the integer that Gt and Lt compare with."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()
    bound: int = 0

    def matches(self, labels: Labels) -> bool:
        """Return whether the labels match. If the label is absent, only NotIn and DoesNotExist match."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels
            case Operator.GT | Operator.LT:
                number = read_integer(labels.get(self.key, ""))
                is_above = self.operator is Operator.GT
                return number is not None and (number > self.bound if is_above else number < self.bound)


FEW = 16
"""The number of requirements up to which matching one by one is faster than an index."""


def equals(key: str, value: str) -> Requirement:
    """Return a requirement that the label has this value, without validation. Use this for selectors that are maps."""
    return Requirement(key, Operator.IN, frozenset((value,)))


def requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement | InvalidRequirement:
    """Make a requirement, validated as by `labels.NewRequirement`, with any operator of a node selector."""
    which = _OPERATORS.get(operator)
    if which is None:
        return InvalidRequirement(f'"{operator}" is not an operator')
    bound = 0
    match which:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                return InvalidRequirement(f"{which} needs values")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                return InvalidRequirement(f"{which} takes no values")
        case Operator.GT | Operator.LT:
            number = read_integer(values[0]) if len(values) == 1 else None
            if number is None:
                return InvalidRequirement(f"{which} needs one integer")
            bound = number
    if not is_label_key(key):
        return InvalidRequirement("a key is no label key")
    if not all(_LABEL_VALUE.fullmatch(value) for value in values):
        return InvalidRequirement("a value is no label value")
    return Requirement(key, which, frozenset(values), bound)


def read_integer(text: str) -> int | None:
    """Read a decimal integer as `strconv.ParseInt` does; None if it is not an integer of 64 bits."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


def is_label_key(text: str) -> bool:
    """Return whether the text is a label key: a name, optionally with a DNS subdomain as its prefix."""
    if len(text) > _MAX_KEY:
        return False
    found = _LABEL_KEY.fullmatch(text)
    return found is not None and len(found["prefix"] or "") <= _MAX_PREFIX
