"""Gangs are bound completely or not at all, in every interleaving and wherever a bind is interrupted."""

from __future__ import annotations

from itertools import islice

import pytest

from berth.extender.outcomes import BindOutcome

from .gangs.binds import GangWorld, gang_of, run_two_gangs
from .gangs.crashes import LARGE_GANG_TIMEOUT, Afterwards, cases, cases_of_watchers, commit_cases, table_error_cases

pytestmark = pytest.mark.long

HISTORIES = 40
PARTS = 4


EACH_WITH_WATCHERS, EACH_OF_WATCHERS = 48, 500
"""Run one in so many of the cases with watchers; `make simulation` runs more."""


@pytest.mark.parametrize("part", range(PARTS))
def test_recovers_when_a_bind_of_the_gang_is_interrupted_at_any_call(part: int) -> None:
    for case in [case for case in cases() if case.afterwards is Afterwards.COMES_AGAIN][part::PARTS]:
        case.run()


def test_binds_all_members_or_none_if_the_table_does_not_respond_to_some_calls() -> None:
    for case in table_error_cases():
        case.run()


@pytest.mark.parametrize("part", range(PARTS))
def test_watchers_release_the_reservations_of_an_interrupted_bind(part: int) -> None:
    """The gang's pods stay, are deleted, or are tried again."""
    found = [case for case in cases() if case.afterwards is not Afterwards.COMES_AGAIN]
    for case in found[part * EACH_WITH_WATCHERS // PARTS :: EACH_WITH_WATCHERS]:
        case.run()


def test_successor_completes_the_work_of_a_watcher_that_dies_at_any_call() -> None:
    for case in islice(cases_of_watchers(), 0, None, EACH_OF_WATCHERS):
        case.run()


def test_recovers_when_a_commit_of_120_nodes_is_interrupted_at_any_call() -> None:
    for case in commit_cases(gang_of(120)):
        case.run()


def test_watchers_release_the_reservations_of_an_interrupted_commit_of_120_nodes() -> None:
    for case in islice(commit_cases(gang_of(120), (Afterwards.STAYS, Afterwards.DELETED)), 0, None, 12):
        case.run()


def test_binds_a_gang_of_1000_members() -> None:
    world = GangWorld(gang_of(1000), http_timeout=LARGE_GANG_TIMEOUT)
    world.run(60.0)
    assert world.bound() == set(world.members)
    assert world.outcomes == {BindOutcome.BOUND: 1000}


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_only_one_of_two_gangs_is_bound_if_there_is_room_for_one(seed: int) -> None:
    run_two_gangs(seed)
