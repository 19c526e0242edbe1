"""Two stores on one cluster, and a takeover at every point of a bind: one seat is given to one pod."""

from __future__ import annotations

import pytest

from berth.extender.outcomes import BindOutcome

from .broken import fails
from .reservations.ledger_takeover import BOUND, Variant, cases
from .reservations.one_seat import OVERCOMMITTED

pytestmark = pytest.mark.long


def test_node_is_never_overcommitted_by_a_takeover_at_any_call() -> None:
    results = [case.run() for case in cases(Variant.CORRECT)]
    # Both ends were reached: the first store's pod has the seat, or the second store's.
    assert {first.outcome in BOUND for first, _ in results} == {True, False}
    assert {second.outcome for _, second in results} == {BindOutcome.BOUND, BindOutcome.INSUFFICIENT}


@pytest.mark.parametrize("variant", [each for each in Variant if each is not Variant.CORRECT])
def test_simulation_overcommits_if_the_takeover_lacks_a_rule(variant: Variant) -> None:
    assert any(fails(case.run, message=OVERCOMMITTED) for case in cases(variant))
