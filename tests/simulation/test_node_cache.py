"""Guarantees of the cache in histories drawn from seeds, and a check that the simulation detects violations."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.reader import NothingPublished

from .broken import Break, fails
from .nodecache.broken_readers import BROKEN_READERS
from .nodecache.broken_watchers import BROKEN_WATCHERS
from .nodecache.history import History, Plan

pytestmark = pytest.mark.long

BROKEN = {**BROKEN_READERS, **BROKEN_WATCHERS}
HISTORIES = 60
PER_TEST = 20
UNTIL_CAUGHT = 150
CAUGHT_LATE = {"further_part_at_an_older_head": 1371}
"""Seeds that are tried first, where a search from seed 0 takes long."""


@pytest.mark.parametrize("first", range(0, HISTORIES, PER_TEST))
def test_readers_see_every_change_and_deposed_leaders_cannot_publish(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        History(Plan.drawn(seed)).run()


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_simulation_fails_if_the_cache_lacks_a_rule(name: str, broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    seeds = [*([CAUGHT_LATE[name]] if name in CAUGHT_LATE else []), *range(UNTIL_CAUGHT)]
    assert any(fails(History(Plan.drawn(seed)).run, NothingPublished) for seed in seeds)
