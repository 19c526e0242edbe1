"""Guarantees of the cache in histories drawn from seeds, and a check that the simulation detects violations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from berth.nodecache.feed.head import SCHEMA_VERSION, Head, Observation, Pointer
from berth.nodecache.feed.reader import NothingPublished
from berth.nodecache.feed.table import CacheTable
from berth.nodecache.feed.writer import Writer

from .broken import Break, fails
from .nodecache.broken_readers import BROKEN_READERS
from .nodecache.broken_watchers import BROKEN_WATCHERS
from .nodecache.history import History, Plan
from .nodecache.next_release import NextReleasesTable

pytestmark = pytest.mark.long

BROKEN = {**BROKEN_READERS, **BROKEN_WATCHERS}
HISTORIES = 60
PER_TEST = 20
UNTIL_CAUGHT = 150
CAUGHT_LATE = {"further_part_at_an_older_head": 1371}
"""Seeds that are tried first, because a search from seed 0 takes long."""


@pytest.mark.parametrize("first", range(0, HISTORIES, PER_TEST))
def test_readers_see_every_change_and_deposed_leaders_cannot_publish(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        History(Plan.drawn(seed)).run()


@pytest.mark.parametrize(("name", "broken"), BROKEN.items(), ids=BROKEN)
def test_simulation_fails_if_the_cache_lacks_a_rule(name: str, broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    seeds = [*([CAUGHT_LATE[name]] if name in CAUGHT_LATE else []), *range(UNTIL_CAUGHT)]
    assert any(fails(History(Plan.drawn(seed)).run, NothingPublished) for seed in seeds)


# Another release is rolled out beside this one and rolled back, process by process: no process reads wrong data.

Release = Callable[[CacheTable], CacheTable]
UPGRADES = 20
UNTIL_MISLED = 60
ADDITIVE, INCOMPATIBLE = SCHEMA_VERSION, SCHEMA_VERSION + 1


def next_release(oldest_reader: int) -> Release:
    return partial(NextReleasesTable, oldest_reader=oldest_reader)


def history(seed: int, other: Release) -> History:
    # Environments end and start, because a release replaces them.
    plan = Plan.drawn(seed)
    return History(replace(plan, other_release=other, cold=max(plan.cold, 0.1)))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(next_release(ADDITIVE), id="next release readable by this release"),
        pytest.param(next_release(INCOMPATIBLE), id="next release unreadable by this release"),
    ],
)
def test_upgrade_and_rollback_do_not_mislead_any_component(other: Release) -> None:
    for seed in range(UPGRADES):
        history(seed, other).run()


def schema_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Head, "unreadable_reason", "")


def schema_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes the oldest reader that the predecessor wrote."""
    following = Writer._next_pointer

    def as_before(self: Writer, observation: Observation) -> Pointer:
        found = following(self, observation)
        if self.pointer is None:
            return found
        return replace(found, oldest_reader=self.pointer.oldest_reader)

    monkeypatch.setattr(Writer, "_next_pointer", as_before)


@pytest.mark.parametrize(
    ("broken", "other"),
    [
        pytest.param(schema_is_not_looked_at, next_release(INCOMPATIBLE), id="ignores the schema of the next release"),
        pytest.param(schema_is_handed_on, next_release(INCOMPATIBLE), id="schema is handed on"),
    ],
)
def test_simulation_fails_if_an_upgrade_lacks_a_rule(
    broken: Callable[[pytest.MonkeyPatch], None], other: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    assert any(fails(history(seed, other).run, NothingPublished) for seed in range(UNTIL_MISLED))
