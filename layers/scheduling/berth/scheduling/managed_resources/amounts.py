"""Amounts as they stand in labels, annotations and resource lists: whole units, rounded up, within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from berth.scheduling.fields.quantity import ZERO, Quantity, UnparsableQuantity, quantity

MAX_AMOUNT = 10**15
"""Sums of a thousand of them fit into 64 bits, and nothing that is shared has more units."""

NOT_A_QUANTITY = "is not a quantity"
NEGATIVE = "is negative"
TOO_LARGE = "is larger than 10^15"

_LARGEST = Quantity(MAX_AMOUNT)


@dataclass(frozen=True, slots=True)
class NoAmount:
    """What stands where an amount should be, and is none; `cause` is constant, whatever stands there (fact 17)."""

    cause: str


@lru_cache(maxsize=4096)
def amount_in(text: str) -> int | NoAmount:
    """Whole units. An empty text is no quantity."""
    found = quantity(text)
    if isinstance(found, UnparsableQuantity):
        return NoAmount(NOT_A_QUANTITY)
    if ZERO.exceeds(found):
        return NoAmount(NEGATIVE)
    # Compared before it is rounded: beyond 64 bits the rounded number is any.
    return NoAmount(TOO_LARGE) if found.exceeds(_LARGEST) else found.value()


def bounded(units: int) -> int | NoAmount:
    """Units that a resource list was read to be."""
    if units < 0:
        return NoAmount(NEGATIVE)
    return NoAmount(TOO_LARGE) if units > MAX_AMOUNT else units
