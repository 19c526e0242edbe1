"""Quantities in every form that Kubernetes parses: the same amount, written differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.parity.generator.draw import Draw

BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

MI = BINARY["Mi"]
GI = BINARY["Gi"]

HUGE = (
    "9223372036854775807",  # the largest int64: 19 digits
    "9223372036854775808",  # one more: 19 digits that wrap around to the smallest int64
    "1234567890123456789",
    "8Ei",  # capped to the largest int64
    "7Ei",
    "5E",
    "10E",  # more than int64 holds, which counts as 0
    "5e18",
    "4611686018427387904000m",
)
"""More than any pod requests. Amounts whose sums exceed int64 are not usable: kube-scheduler's sums wrap around."""

BELOW_MILLI = ("1n", "999n", "1u", "100u", "0.1m", "1.0001m", "0.0000001", "1e-7", "2500001n")
"""An API server rounds these up to milli. For a single container, rounding the request or the sum is the same."""

EXTENDED_RESOURCES = ("example.com/gpu", "example.com/fpga", "vendor.example.org/license")
HUGE_PAGES = "hugepages-2Mi"

Amounts = Mapping[str, int]
"""Amounts by resource: cpu in thousandths, all other resources in units."""


def quantities(draw: Draw, amounts: Amounts) -> dict[str, str]:
    return {name: _quantity(draw, name, amount) for name, amount in amounts.items()}


def usual_quantities(amounts: Amounts) -> dict[str, str]:
    """Return the amounts as a ResourceList in the usual notation, with few digits."""
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


def _quantity(draw: Draw, name: str, amount: int) -> str:
    if name == "cpu":
        return milli(draw, amount)
    if name in EXTENDED_RESOURCES or name == "pods":
        return str(amount)
    return whole(draw, amount)


def milli(draw: Draw, amount: int) -> str:
    return draw.weighted(_FORMS_OF_MILLI)(draw, amount, -3)


def whole(draw: Draw, amount: int) -> str:
    return draw.weighted(_FORMS_OF_WHOLE)(draw, amount, 0)


def _plain(digits: int, scale: int) -> str:
    """Return digits x 10^scale as a decimal fraction without exponent."""
    if scale >= 0:
        return str(digits * 10**scale)
    padded = str(digits).rjust(-scale + 1, "0")
    return f"{padded[:scale]}.{padded[scale:]}".rstrip("0").rstrip(".")


def _usual(_: Draw, digits: int, scale: int) -> str:
    return f"{digits}{'m' if scale else ''}"


def _without_suffix(_: Draw, digits: int, scale: int) -> str:
    return _plain(digits, scale)


def _with_decimal_suffix(draw: Draw, digits: int, scale: int) -> str:
    suffix = draw.one_of(list(DECIMAL))
    return _plain(digits, scale - DECIMAL[suffix]) + suffix


def _with_exponent(draw: Draw, digits: int, scale: int) -> str:
    exponent = draw.between(-9, 9)
    sign = draw.one_of(("", "+")) if exponent >= 0 else ""
    return f"{_plain(digits, scale - exponent)}{draw.one_of('eE')}{sign}{exponent}"


def _with_binary_suffix(draw: Draw, amount: int, _: int) -> str:
    halves = [suffix for suffix, unit in BINARY.items() if amount * 2 % unit == 0 and amount % unit]
    if halves and draw.chance(0.2):
        suffix = draw.one_of(halves)
        return f"{_plain(amount * 10 // BINARY[suffix], -1)}{suffix}"
    fitting = [suffix for suffix, unit in BINARY.items() if amount % unit == 0]
    if not fitting:
        return str(amount)
    suffix = draw.one_of(fitting)
    return f"{amount // BINARY[suffix]}{suffix}"


def _odd(draw: Draw, digits: int, scale: int) -> str:
    plain = _plain(digits, scale)
    match draw.one_of(("sign", "zeros before", "zeros after", "point")):
        case "sign":
            return "+" + plain
        case "zeros before":
            return "00" + plain
        case "zeros after":
            return plain + ("00" if "." in plain else ".000")
        case _:
            return plain.removeprefix("0") if plain.startswith("0.") else plain if "." in plain else plain + "."


_Form = Callable[[Draw, int, int], str]

_FORMS_OF_MILLI: Mapping[_Form, float] = {
    _usual: 8,
    _without_suffix: 4,
    _with_decimal_suffix: 2,
    _with_exponent: 1,
    _odd: 1,
}
_FORMS_OF_WHOLE: Mapping[_Form, float] = {
    _with_binary_suffix: 8,
    _usual: 4,
    _with_decimal_suffix: 3,
    _with_exponent: 2,
    _odd: 1,
}
