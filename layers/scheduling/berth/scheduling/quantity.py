"""Quantities, as Kubernetes parses, adds and rounds them (`k8s.io/apimachinery/pkg/api/resource`).

A quantity is exact: an integer and a power of ten. It is rounded once, when a whole number of units is asked for, and
away from zero: whoever asks for a little gets a little. Kubernetes keeps small numbers in 64 bits and larger ones as
decimals, and the two overflow differently; `decimal` tells which, so that even absurd amounts come out as there.
"""

from __future__ import annotations

from dataclasses import dataclass

MILLI = -3
UNIT = 0

MAX_INT64 = (1 << 63) - 1
_MIN_INT64 = -(1 << 63)
MAX_EXPONENT = 400
"""Where the decimals of Kubernetes would only grow: nothing that is measured has 400 digits."""

_MULTIPLIED_AT_ONCE = (1, 2, 3, 6, 9)
"""Powers of ten by which Kubernetes multiplies in one step, and lets it overflow; with the others it gives up at 0."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """`number` x 10^`exponent`."""

    number: int
    exponent: int = 0
    decimal: bool = False

    def value(self) -> int:
        """Whole units, rounded up."""
        return self._scaled(UNIT)

    def milli_value(self) -> int:
        """Thousandths, rounded up: what cpu is counted in."""
        return self._scaled(MILLI)

    def plus(self, other: Quantity) -> Quantity:
        """The exact sum."""
        if not self.decimal and not other.decimal:
            if other.number == 0:
                return self
            if self.number == 0:
                return other
        exponent = min(self.exponent, other.exponent)
        if max(self.exponent, other.exponent) - exponent > MAX_EXPONENT:
            return self if self.exponent > other.exponent else other
        mine, its = _shifted(self, exponent), _shifted(other, exponent)
        small = fits(mine) and fits(its) and fits(mine + its) and not self.decimal and not other.decimal
        return Quantity(mine + its, exponent, decimal=not small)

    def exceeds(self, other: Quantity) -> bool:
        """Whether it is the larger one."""
        exponent = max(min(self.exponent, other.exponent), -MAX_EXPONENT)
        return _shifted(self, exponent) > _shifted(other, exponent)

    def _scaled(self, exponent: int) -> int:
        rise = self.exponent - exponent
        if rise < 0:
            return _rounded(self.number, -rise) if self.decimal else divided_up(self.number, power_of_ten(-rise))
        if self.number == 0:
            return 0
        raised = self.number * power_of_ten(min(rise, MAX_EXPONENT))
        if fits(raised):
            return raised
        return wrapped(raised) if self.decimal or rise in _MULTIPLIED_AT_ONCE else 0


ZERO = Quantity(0)


def _shifted(amount: Quantity, exponent: int) -> int:
    rise = min(amount.exponent - exponent, MAX_EXPONENT)
    return amount.number * power_of_ten(rise) if rise >= 0 else divided_up(amount.number, power_of_ten(-rise))


def divided_up(number: int, divisor: int) -> int:
    """Rounded away from zero."""
    return -(-number // divisor) if number >= 0 else number // divisor


def _rounded(number: int, places: int) -> int:
    """A decimal without its last places: one more where something was cut off, below zero too."""
    divisor = power_of_ten(places)
    if number < MAX_INT64 and places < 19:
        number = wrapped(number)
        whole = number // divisor if number >= 0 else -(-number // divisor)
    else:
        whole = wrapped(number // divisor)
    return wrapped(whole + bool(number % divisor))


def power_of_ten(places: int) -> int:
    """10 to that power, which is not negative."""
    power: int = 10**places
    return power


def fits(number: int) -> bool:
    """Whether 64 bits hold it."""
    return _MIN_INT64 <= number <= MAX_INT64


def wrapped(number: int) -> int:
    """The low 64 bits, as Go keeps them of a number that is too large."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
