"""bind, cut short at every call and in every way; and that the simulation would notice if a rule were missing."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.simulation.bind_crashes import cases
from tests.simulation.broken_binds import BROKEN, Break

EVERY = 40
"""`make soak` runs them all."""
PARTS = 4
STRIDE = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_recovers_when_bind_is_interrupted_at_any_call(part: int) -> None:
    for case in islice(cases(all_afterwards=False), part, None, EVERY):
        try:
            case.run()
        except AssertionError as broken:
            raise AssertionError(f"{case}: {broken}") from broken


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_catches_bind_without_one_of_its_rules(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        run_until_caught()


def run_until_caught() -> None:
    """Run every case; neighbours, which are alike, in different rounds."""
    for first in range(STRIDE):
        # What breaks may break while the cases are laid out, too.
        for case in islice(cases(all_afterwards=False), first, None, STRIDE):
            case.run()
