"""bind, interrupted at every call and in every way, and a check that the simulation notices a missing rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from .broken import Break
from .reservations.bind_crashes import Case, cases
from .reservations.broken_binds import BROKEN
from .reservations.broken_owners import the_annotation_moves_devices
from .reservations.broken_reservations import absence_releases

pytestmark = pytest.mark.long

EVERY = 40
"""Each part runs one case in this many; `make simulation` runs all cases."""
PARTS = 4
STRIDE = 12


@pytest.fixture(scope="module")
def laid_out() -> Sequence[Case]:
    """Return all cases. Listing them takes a thousand binds of the correct protocol."""
    return tuple(cases())


@pytest.mark.parametrize("part", range(PARTS))
def test_recovers_when_bind_is_interrupted_at_any_call(laid_out: Sequence[Case], part: int) -> None:
    for case in laid_out[part::EVERY]:
        try:
            case.run()
        except AssertionError as broken:
            raise AssertionError(f"{case}: {broken}") from broken


AGAINST_OWNERS = {each.__name__: each for each in (absence_releases, the_annotation_moves_devices)}


@pytest.mark.parametrize("broken", [*BROKEN.values(), *AGAINST_OWNERS.values()], ids=[*BROKEN, *AGAINST_OWNERS])
def test_simulation_fails_if_bind_lacks_a_rule(
    laid_out: Sequence[Case], broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        run_until_caught(laid_out)


def run_until_caught(laid_out: Sequence[Case]) -> None:
    """Run all cases. Neighboring cases, which are similar, run in different rounds."""
    for first in range(STRIDE):
        for case in laid_out[first::STRIDE]:
            case.run()
