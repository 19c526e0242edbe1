"""Another release runs beside this one and is rolled back, watchers and readers one by one: none reads wrong data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from berth.nodecache.feed.head import SCHEMA_VERSION, Head, Observation, Pointer
from berth.nodecache.feed.reader import NothingPublished
from berth.nodecache.feed.table import CacheTable
from berth.nodecache.feed.writer import Writer

from .broken import fails
from .nodecache.history import History, Plan
from .nodecache.next_release import NextReleasesTable

Release = Callable[[CacheTable], CacheTable]

pytestmark = pytest.mark.long

HISTORIES = 20
UNTIL_CAUGHT = 60
ADDITIVE, INCOMPATIBLE = SCHEMA_VERSION, SCHEMA_VERSION + 1


def next_release(oldest_reader: int) -> Release:
    return partial(NextReleasesTable, oldest_reader=oldest_reader)


def history(seed: int, other: Release) -> History:
    # Environments come and go, for that is how releases do.
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
    for seed in range(HISTORIES):
        history(seed, other).run()


def schema_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Head, "unreadable_reason", "")


def schema_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watcher says of what it writes what its predecessor said."""
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
    assert any(fails(history(seed, other).run, NothingPublished) for seed in range(UNTIL_CAUGHT))
