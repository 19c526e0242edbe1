"""Two stores on one cluster, a takeover or a restart at every call of a bind: one seat is given to one pod."""

from __future__ import annotations

import pytest

from berth.extender.outcomes import BindOutcome

from .broken import fails
from .reservations import ledger_takeover, store_restart
from .reservations.one_seat import OVERCOMMITTED

pytestmark = pytest.mark.long


def test_node_is_never_overcommitted_by_a_takeover_at_any_call() -> None:
    results = [case.run() for case in ledger_takeover.cases(ledger_takeover.Variant.CORRECT)]
    # Both outcomes occurred: the first store's pod has the seat, or the second store's pod has it.
    assert {first.outcome in ledger_takeover.BOUND for first, _ in results} == {True, False}
    assert {second.outcome for _, second in results} == {BindOutcome.BOUND, BindOutcome.INSUFFICIENT}


def test_next_store_counts_in_time_and_never_overcommits_after_a_stop_at_any_call() -> None:
    found = [(each, each.run()) for each in store_restart.cases(store_restart.Variant.CORRECT)]
    assert {result.outcome for _, result in found} == {BindOutcome.BOUND, BindOutcome.INSUFFICIENT}
    assert {call for case, _ in found for call in case.calls} == {"pod", "Lease", "reserve", "Binding"}


@pytest.mark.parametrize("variant", [*ledger_takeover.Variant][1:])
def test_simulation_overcommits_if_the_takeover_lacks_a_rule(variant: ledger_takeover.Variant) -> None:
    assert any(fails(case.run, message=OVERCOMMITTED) for case in ledger_takeover.cases(variant))


@pytest.mark.parametrize("variant", [*store_restart.Variant][1:])
def test_store_that_waits_too_briefly_overcommits(variant: store_restart.Variant) -> None:
    assert any(fails(case.run, message=OVERCOMMITTED) for case in store_restart.cases(variant))
