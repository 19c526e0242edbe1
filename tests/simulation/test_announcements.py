"""Rules about other pods in histories drawn from seeds, and a check that the simulation detects violations."""

from __future__ import annotations

import pytest

from tests.simulation.announcements.broken import BROKEN
from tests.simulation.announcements.history import AnnouncementsHistory
from tests.simulation.broken import Break, fails

pytestmark = pytest.mark.long

HISTORIES = 20
UNTIL_CAUGHT = 200


def test_pods_never_break_a_rule_in_any_interleaving() -> None:
    bound = rejected = 0
    for seed in range(HISTORIES):
        history = AnnouncementsHistory(seed)
        history.run()
        bound, rejected = bound + history.bound, rejected + history.rejected
    assert bound > 10 * HISTORIES
    assert rejected > HISTORIES


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_simulation_fails_if_bind_lacks_a_rule(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    assert any(fails(AnnouncementsHistory(seed).run) for seed in range(UNTIL_CAUGHT))
