"""Parses, adds and rounds quantities as Kubernetes does (`k8s.io/apimachinery/pkg/api/resource`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_INT64 = (1 << 63) - 1
_MIN_INT64 = -(1 << 63)
MAX_EXPONENT = 400
"""The largest exponent. Real amounts never have 400 digits, and larger exponents would only cost memory."""

_MULTIPLIED_AT_ONCE = (1, 2, 3, 6, 9)
"""Exponents of the powers of ten by which Kubernetes multiplies in one step. An overflow then wraps; with other powers
the result is 0."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """The amount `number` x 10^`exponent`. decimal: whether Kubernetes stores it as a decimal and not in 64 bits."""

    number: int
    exponent: int = 0
    decimal: bool = False

    def value(self) -> int:
        return self._scaled(0)

    def milli_value(self) -> int:
        """Return the amount in thousandths, the unit of cpu, rounded up."""
        return self._scaled(-3)

    def plus(self, other: Quantity) -> Quantity:
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
    return -(-number // divisor) if number >= 0 else number // divisor


def _rounded(number: int, places: int) -> int:
    """Remove the last digits of a decimal. Add one if they were not all zero, even to a negative number."""
    divisor = power_of_ten(places)
    if number < MAX_INT64 and places < 19:
        number = wrapped(number)
        whole = number // divisor if number >= 0 else -(-number // divisor)
    else:
        whole = wrapped(number // divisor)
    return wrapped(whole + bool(number % divisor))


def power_of_ten(places: int) -> int:
    """Return 10 to the power of `places`, which must not be negative."""
    power: int = 10**places
    return power


def fits(number: int) -> bool:
    return _MIN_INT64 <= number <= MAX_INT64


def wrapped(number: int) -> int:
    """Return the low 64 bits of the number, as Go does on overflow."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


_NANO = -9
_DIGITS = 18
_MAX_LENGTH = MAX_EXPONENT

_QUANTITY = re.compile(
    r"[+-]?(?P<digits>[0-9]*)(\.(?P<fraction>[0-9]*))?(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII
)
_EXPONENT = re.compile(r"[eE](?P<exponent>[-+]?[0-9]{1,18})", re.ASCII)
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def quantity(value: object) -> Quantity | None:
    """Read a quantity from a string or a number; null counts as zero. Return None if the value is not a quantity."""
    if value is None:
        return ZERO
    if isinstance(value, str):
        # Reject long texts before they are cached: a pod may have a thousand texts of 1 KB.
        text = value.strip()
        return _parsed(text) if len(text) <= _MAX_LENGTH else None
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and fits(value)):
        return _parsed(str(value))
    return None


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Quantity | None:
    found = _QUANTITY.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if found is None:
        return None
    digits, fraction, suffix = found["digits"].lstrip("0") or "0", found["fraction"] or "", found["suffix"]
    magnitude: Quantity | None = None
    if not found["digits"] and not fraction:
        magnitude = _without_digits(suffix)
    elif (power := _BINARY_SUFFIXES.get(suffix)) is not None:
        magnitude = _binary(digits, fraction, power)
    elif (exponent := _decimal_exponent(suffix)) is not None:
        magnitude = _decimal(digits, fraction, exponent)
    if magnitude is None:
        return None
    return Quantity(-magnitude.number, magnitude.exponent, magnitude.decimal) if text[0] == "-" else magnitude


def _decimal_exponent(suffix: str) -> int | None:
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return exponent
    found = _EXPONENT.fullmatch(suffix)
    # Kubernetes keeps only the low 32 bits of the exponent.
    return None if found is None else (int(found["exponent"]) + (1 << 31)) % (1 << 32) - (1 << 31)


def _without_digits(suffix: str) -> Quantity | None:
    """Read a suffix without digits. Kubernetes reads it as zero, but rejects it if it has to parse a decimal."""
    if suffix in ("Pi", "Ei"):
        return None
    exponent = 0 if suffix in _BINARY_SUFFIXES else _decimal_exponent(suffix)
    return None if exponent is None or exponent < _NANO else ZERO


def _decimal(digits: str, fraction: str, exponent: int) -> Quantity | None:
    number = int(digits + fraction)
    scale = exponent - len(fraction)
    if len(digits) + len(fraction) <= _DIGITS and scale >= _NANO:
        return Quantity(number, scale)
    return _to_nano(number, scale)


def _binary(digits: str, fraction: str, power: int) -> Quantity | None:
    number = int(digits + fraction) << power
    # A number with so few digits always fits into 64 bits, even after it is multiplied by the suffix.
    if not fraction and len(digits) <= 14 - power * 3 // 10 and fits(number):
        return Quantity(number)
    rounded = _to_nano(number, -len(fraction))
    if rounded is None or rounded.exceeds(Quantity(MAX_INT64)):
        return Quantity(MAX_INT64, decimal=True)
    return rounded


def _to_nano(number: int, exponent: int) -> Quantity | None:
    """Round up to billionths, the smallest unit. Return None if the number is too large."""
    if number == 0:
        return Quantity(0, decimal=True)
    if exponent > MAX_EXPONENT:
        return None
    if exponent >= _NANO:
        return Quantity(number * power_of_ten(exponent - _NANO), _NANO, decimal=True)
    if exponent < -len(str(number)) + _NANO:
        return Quantity(1, _NANO, decimal=True)
    return Quantity(divided_up(number, power_of_ten(_NANO - exponent)), _NANO, decimal=True)
