"""Generated cases are reproducible, and quantities have the wanted value."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.parity.generator.cases import case, cases
from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Family
from tests.parity.generator.quantities import BINARY, DECIMAL, GI, milli, whole


@pytest.mark.parametrize("family", Family)
def test_case_does_not_depend_on_earlier_cases(family: Family) -> None:
    assert list(cases(7, family, 3, first=2))[1] == case(7, family, 3)
    assert case(7, family, 3) != case(8, family, 3)


def amount(quantity: str) -> Decimal:
    """The value of a quantity, computed with Decimal."""
    for suffix, unit in BINARY.items():
        if quantity.endswith(suffix):
            return Decimal(quantity.removesuffix(suffix)) * unit
    for suffix, exponent in DECIMAL.items():
        if suffix and quantity.endswith(suffix):
            return Decimal(quantity.removesuffix(suffix)).scaleb(exponent)
    return Decimal(quantity)


@pytest.mark.parametrize("wanted", [0, 1, 50, 1500, 100_000_000, 3 * GI // 2, GI])
def test_quantities_have_the_exact_value(wanted: int) -> None:
    draw = Draw("quantities")
    for _ in range(300):
        assert amount(whole(draw, wanted)) == wanted
        assert amount(milli(draw, wanted)) * 1000 == wanted
