"""What a member of a gang costs in the table of gangs."""

from __future__ import annotations

import pytest

from tests.capacity.gang_units import gang_units


def test_pair_costs_a_few_units() -> None:
    reads, writes = gang_units(2)
    # Each joins the item of its gang, and one commits both: a transaction on the gang's item and the domain.
    assert writes >= (2 + 2 * 2) / 2
    assert 2 <= reads <= 6


@pytest.mark.parametrize("members", [8, 32])
def test_larger_gang_shares_its_commit_and_has_a_larger_item(members: int) -> None:
    assert gang_units(members)[1] < gang_units(2)[1]
    assert gang_units(members)[0] > gang_units(2)[0]
