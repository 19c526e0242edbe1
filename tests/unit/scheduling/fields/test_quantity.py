"""Quantities: every format that Kubernetes accepts, and its value. The expected values are those of apimachinery."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.scheduling.fields.quantity import Quantity, quantity


def read(value: object) -> Quantity:
    found = quantity(value)
    assert isinstance(found, Quantity)
    return found


@pytest.mark.parametrize(
    ("text", "value", "milli_value"),
    [
        # Digits, a sign, a point; a lone point is zero.
        ("0", 0, 0),
        ("1", 1, 1_000),
        ("1.", 1, 1_000),
        ("1.5", 2, 1_500),
        (".5", 1, 500),
        ("5.", 5, 5_000),
        ("+5", 5, 5_000),
        ("-0.5", -1, -500),
        (".", 0, 0),
        # Fractions: rounded away from zero, once.
        ("-1500m", -2, -1_500),
        ("1m", 1, 1),
        ("1500m", 2, 1_500),
        ("0.1m", 1, 1),
        ("100u", 1, 1),
        ("1n", 1, 1),
        ("0.0000000001", 1, 1),
        ("2500001n", 1, 3),
        # Decimal suffixes.
        ("1k", 1_000, 1_000_000),
        ("1M", 1_000_000, 1_000_000_000),
        ("1G", 1_000_000_000, 1_000_000_000_000),
        ("1T", 1_000_000_000_000, 1_000_000_000_000_000),
        ("1P", 1_000_000_000_000_000, 1_000_000_000_000_000_000),
        ("10000P", 0, 0),
        # Binary suffixes, capped at 64 bits.
        ("1Ki", 1_024, 1_024_000),
        ("1.5Ki", 1_536, 1_536_000),
        ("-1.5Ki", -1_536, -1_536_000),
        ("-8Ei", -9_223_372_036_854_775_807, 1_000),
        ("1Mi", 1_048_576, 1_048_576_000),
        ("1Gi", 1_073_741_824, 1_073_741_824_000),
        ("1Ti", 1_099_511_627_776, 1_099_511_627_776_000),
        ("1Pi", 1_125_899_906_842_624, 1_125_899_906_842_624_000),
        ("1Ei", 1_152_921_504_606_846_976, -9_223_372_036_854_775_808),
        ("8Ei", 9_223_372_036_854_775_807, -1_000),
        # Exponents; a lone E is a suffix.
        ("1e3", 1_000, 1_000_000),
        ("1e+3", 1_000, 1_000_000),
        ("1e-3", 1, 1),
        ("1.5e3", 1_500, 1_500_000),
        ("1e18", 1_000_000_000_000_000_000, 0),
        ("1e19", 0, 0),
        # Exa: a value that does not fit into 64 bits is 0.
        ("1E", 1_000_000_000_000_000_000, 0),
        ("10E", 0, 0),
        ("9.2E", 9_200_000_000_000_000_000, 0),
        # 19 digits and more are kept as decimals, and lose their upper bits.
        ("9223372036854775807", 9_223_372_036_854_775_807, -1_000),
        ("9223372036854775808", -9_223_372_036_854_775_808, 0),
        ("-9223372036854775808", 0, 0),
        ("-9223372036854775809", -1, -1_000),
        ("12345678901234567890", -6_101_065_172_474_983_726, 4_807_115_922_877_858_896),
        ("0.999999999999999999", 1, 1_000),
        ("1234567890123456789m", 1_234_567_890_123_457, 1_234_567_890_123_456_789),
        ("9223372036854775808m", 9_223_372_036_854_776, -9_223_372_036_854_775_808),
        ("9223372036854775807k", -1_000, -1_000_000),
        ("9223372036854775807n", 9_223_372_037, 9_223_372_036_855),
        ("9223372036854775807Ki", 9_223_372_036_854_775_807, -1_000),
        ("9223372036854776", 9_223_372_036_854_776, -9_223_372_036_854_775_616),
    ],
)
def test_parses_value_and_milli_value(text: str, value: int, milli_value: int) -> None:
    assert (read(text).value(), read(text).milli_value()) == (value, milli_value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("K", id="an unknown suffix alone"),
        pytest.param("Pi", id="a suffix alone that does not fit"),
        pytest.param("e-10", id="an exponent alone, too small"),
        pytest.param("1K", id="kilo is a small letter"),
        pytest.param("1ki", id="kibi is a capital letter"),
        pytest.param("1i", id="half a suffix"),
        pytest.param("1e", id="an exponent without digits"),
        pytest.param("1E+", id="an exponent of a sign alone"),
        pytest.param("1ee3", id="two letters for one exponent"),
        pytest.param("1e3.5", id="a broken exponent"),
        pytest.param("1e3k", id="an exponent and a suffix"),
        pytest.param("1 Gi", id="a space inside"),
        pytest.param("1..5", id="two adjacent points"),
        pytest.param("1.2.3", id="two separate points"),
        pytest.param("1_000", id="an underscore"),
        pytest.param("0x10", id="hexadecimal"),
        pytest.param("\u0661", id="non-ASCII digits"),
    ],
)
def test_rejects_malformed_quantity(text: str) -> None:
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        pytest.param(None, 0, id="null is zero"),
        pytest.param(3, 3, id="an integer"),
        pytest.param(1.5, 2, id="a fraction"),
        pytest.param(" 1Gi ", 1 << 30, id="surrounding spaces"),
    ],
)
def test_parses_null_and_numbers_and_strings_with_spaces(value: object, wanted: int) -> None:
    assert read(value).value() == wanted


@pytest.mark.parametrize("value", [True, [], {}, 1 << 64], ids=["a boolean", "a list", "an object", "65 bits"])
def test_rejects_other_json_types_and_numbers_beyond_64_bits(value: object) -> None:
    assert quantity(value) is None


@pytest.mark.parametrize(
    ("first", "second", "value", "milli_value"),
    [
        pytest.param("1", "500m", 2, 1500, id="exact, then rounded up"),
        pytest.param("0.4m", "0.4m", 1, 1, id="rounded once"),
        pytest.param("1Gi", "1G", 2_073_741_824, 2_073_741_824_000, id="of two suffixes"),
        pytest.param("0", "1n", 1, 1, id="zero and a small amount"),
        pytest.param("9223372036854775807", "1", -9_223_372_036_854_775_808, 0, id="more than 64 bits wrap around"),
    ],
)
def test_adds_quantities_with_different_units(first: str, second: str, value: int, milli_value: int) -> None:
    both = read(first).plus(read(second))
    assert (both.value(), both.milli_value()) == (value, milli_value)


@given(st.integers(0, 10**12), st.integers(-9, 3))
def test_rounds_exact_quantities_up(number: int, exponent: int) -> None:
    found, exact = read(f"{number}e{exponent}"), Decimal(number).scaleb(exponent)
    assert exact <= found.value() < exact + 1
    assert exact * 1000 <= found.milli_value() < exact * 1000 + 1


@pytest.mark.parametrize(
    ("first", "second", "exceeds"),
    [
        pytest.param("1", "999m", True, id="a part less"),
        pytest.param("1500m", "2", False, id="a part more"),
        pytest.param("1k", "1000", False, id="the same with another suffix"),
        pytest.param("1Ki", "1k", True, id="binary and decimal"),
        pytest.param("2e3", "1500000m", True, id="a larger exponent"),
    ],
)
def test_compares_quantities_of_any_exponent(first: str, second: str, exceeds: bool) -> None:
    assert read(first).exceeds(read(second)) is exceeds
