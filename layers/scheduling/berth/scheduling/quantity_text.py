"""Reading quantities: every spelling that Kubernetes takes, and no other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from berth.scheduling.quantity import MAX_EXPONENT, MAX_INT64, ZERO, Quantity, divided_up, fits, power_of_ten

_NANO = -9
_DIGITS = 18
_MAX_LENGTH = MAX_EXPONENT

_QUANTITY = re.compile(
    r"[+-]?(?P<digits>[0-9]*)(\.(?P<fraction>[0-9]*))?(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII
)
_EXPONENT = re.compile(r"[eE](?P<exponent>[-+]?[0-9]{1,18})", re.ASCII)
_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@dataclass(frozen=True, slots=True)
class Unparsable:
    """What stands where a quantity should, and is none."""

    text: str


def quantity(value: object) -> Quantity | Unparsable:
    """Read a quantity of an object; JSON has it as a string or as a number, and null counts as zero."""
    if value is None:
        return ZERO
    if isinstance(value, str):
        return _parsed(value.strip())
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and fits(value)):
        return _parsed(str(value))
    return Unparsable(type(value).__name__)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Quantity | Unparsable:
    found = _QUANTITY.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if found is None:
        return Unparsable(text)
    digits, fraction, suffix = found["digits"].lstrip("0") or "0", found["fraction"] or "", found["suffix"]
    magnitude: Quantity | None
    if not found["digits"] and not fraction:
        magnitude = _without_digits(suffix)
    elif (power := _BINARY_SUFFIXES.get(suffix)) is not None:
        magnitude = _binary(digits, fraction, power)
    elif (exponent := _decimal_exponent(suffix)) is not None:
        magnitude = _decimal(digits, fraction, exponent)
    else:
        return Unparsable(text)
    if magnitude is None:
        return Unparsable(text)
    return Quantity(-magnitude.number, magnitude.exponent, magnitude.decimal) if text[0] == "-" else magnitude


def _decimal_exponent(suffix: str) -> int | None:
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return exponent
    found = _EXPONENT.fullmatch(suffix)
    # Kubernetes keeps 32 bits of it.
    return None if found is None else (int(found["exponent"]) + (1 << 31)) % (1 << 32) - (1 << 31)


def _without_digits(suffix: str) -> Quantity | None:
    """Kubernetes takes a lone suffix for zero, unless it has to go by way of decimals."""
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
    # As many digits as surely fit into 64 bits together with the suffix.
    if not fraction and len(digits) <= 14 - power * 3 // 10 and fits(number):
        return Quantity(number)
    rounded = _to_nano(number, -len(fraction))
    if rounded is None or rounded.exceeds(Quantity(MAX_INT64)):
        return Quantity(MAX_INT64, decimal=True)
    return rounded


def _to_nano(number: int, exponent: int) -> Quantity | None:
    """Rounded up to billionths, the finest there are. None where the number is beyond all measure."""
    if number == 0:
        return Quantity(0, decimal=True)
    if exponent > MAX_EXPONENT:
        return None
    if exponent >= _NANO:
        return Quantity(number * power_of_ten(exponent - _NANO), _NANO, decimal=True)
    if exponent < -len(str(number)) + _NANO:
        return Quantity(1, _NANO, decimal=True)
    return Quantity(divided_up(number, power_of_ten(_NANO - exponent)), _NANO, decimal=True)
