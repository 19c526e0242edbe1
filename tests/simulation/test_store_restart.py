"""A store in memory ends at every call of a bind, and another one takes its place: one seat is given to one pod."""

from __future__ import annotations

import pytest

from berth.extender.outcomes import BindOutcome

from .broken import fails
from .reservations.one_seat import OVERCOMMITTED
from .reservations.store_restart import Variant, cases

pytestmark = pytest.mark.long


def test_next_store_counts_in_time_and_never_overcommits_after_a_stop_at_any_call() -> None:
    found = [(each, each.run()) for each in cases(Variant.CORRECT)]

    assert {result.outcome for _, result in found} == {BindOutcome.BOUND, BindOutcome.INSUFFICIENT}
    assert {call for case, _ in found for call in case.calls} == {"pod", "Lease", "reserve", "Binding"}


@pytest.mark.parametrize("variant", [each for each in Variant if each is not Variant.CORRECT])
def test_store_that_waits_too_briefly_overcommits(variant: Variant) -> None:
    assert any(fails(case.run, message=OVERCOMMITTED) for case in cases(variant))
