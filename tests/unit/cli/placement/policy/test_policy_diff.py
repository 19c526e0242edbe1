"""Changes by a new policy, and the limits on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from berth.scheduling.reason_code import ReasonCode
from berth_cli.placement.comparison import Cause, Comparison, PodComparison
from berth_cli.placement.policy.diff_report import ROWS_SHOWN, markdown, table
from berth_cli.placement.policy.policy_diff import Limit, PolicyDiff, headline, limit_violations, read_limit
from berth_cli.placement.run import Place, PlaceKind, Rule, Run

NOTHING = Run({}, {}, {}, {})
CPU = Rule("NodeResourcesFit", "Insufficient cpu", 3, ReasonCode.INSUFFICIENT_RESOURCE)
RESERVED = Rule("ResourceSegregation", "reserved", 2, ReasonCode.NODE_RESERVED)


def on(node: str) -> Place:
    return Place(PlaceKind.NODE, node)


def pending(*rules: Rule) -> Place:
    return Place(PlaceKind.PENDING, rules=rules)


def pod(name: str, before: Place, after: Place, cause: Cause | None = None) -> PodComparison:
    return PodComparison(("default", name), 0, before, after, cause)


def diff(*pods: PodComparison, judged: int = 10) -> PolicyDiff:
    return PolicyDiff(Comparison(NOTHING, NOTHING, pods), judged, "dump.json")


LOST = pod("lost", on("a"), pending(CPU))
EVICTED = pod("evicted", on("a"), Place(PlaceKind.EVICTED))
MOVED = pod("moved", on("a"), on("b"))
GAINED = pod("gained", pending(), on("b"))
SAME = pod("same", on("a"), on("a"))


def test_lists_changed_pods_with_newly_pending_ones_first() -> None:
    assert diff(SAME, GAINED, MOVED, LOST, EVICTED).changed == [LOST, EVICTED, MOVED, GAINED]


@pytest.mark.parametrize("shown", [table, markdown])
def test_lists_the_first_pods_and_only_counts_the_rest(shown: Callable[..., Iterator[str]]) -> None:
    found = diff(*(pod(f"p{number}", on("a"), on("b")) for number in range(ROWS_SHOWN + 2)))
    lines = list(shown(found, ()))
    assert [sum(f"p{number}" in line for line in lines) for number in (ROWS_SHOWN - 1, ROWS_SHOWN)] == [1, 0]
    assert "and 2 more pods: -o json lists all" in lines


@pytest.mark.parametrize("shown", [table, markdown])
def test_groups_many_pods_that_move_to_a_node_with_a_higher_score(shown: Callable[..., Iterator[str]]) -> None:
    found = diff(LOST, *(pod(f"p{number}", on("a"), on("b"), Cause.of("a", None)) for number in range(6)))
    assert found.listed == [LOST]
    names = "default/p0, default/p1, default/p2 and 3 more"
    assert f"6 pods moved to a node with a higher score: {names}" in list(shown(found, ()))


def test_lists_few_pods_that_move_to_a_node_with_a_higher_score() -> None:
    moved = pod("p", on("a"), on("b"), Cause.of("a", None))
    assert diff(LOST, moved).listed == [LOST, moved]


def test_evicted_pod_counts_as_newly_pending() -> None:
    assert headline(diff(SAME, GAINED, MOVED, LOST, EVICTED)) == "2 newly pending, 1 moved, 1 newly placed"


def test_counts_the_pods_affected_by_each_rejecting_rule() -> None:
    both = pod("both", on("a"), pending(CPU, RESERVED))
    assert diff(LOST, both).rejecting_rules == [
        Rule("NodeResourcesFit", "Insufficient cpu", 2, ReasonCode.INSUFFICIENT_RESOURCE),
        Rule("ResourceSegregation", "reserved", 1, ReasonCode.NODE_RESERVED),
    ]


@pytest.mark.parametrize(
    ("limits", "lines"),
    [
        pytest.param((None, None), [], id="no limits"),
        pytest.param((Limit(1), Limit(2)), [], id="within both"),
        pytest.param((Limit(0), None), ["1 of 10 pods newly pending, at most 0 allowed"], id="pending"),
        pytest.param((None, Limit(1)), ["2 of 10 pods moved, at most 1 allowed"], id="moved"),
        pytest.param((None, Limit(20, per_cent=True)), [], id="exactly the percentage"),
        pytest.param((None, Limit(19, per_cent=True)), ["2 of 10 pods moved, at most 19% allowed"], id="above percent"),
    ],
)
def test_names_each_exceeded_limit(limits: tuple[Limit | None, Limit | None], lines: list[str]) -> None:
    assert list(limit_violations(diff(LOST, MOVED, MOVED, SAME), *limits)) == lines


@pytest.mark.parametrize(("text", "limit"), [("0", Limit(0)), ("5", Limit(5)), ("5%", Limit(5, per_cent=True))])
def test_parses_a_limit_as_number_of_pods_or_percentage(text: str, limit: Limit) -> None:
    assert (read_limit(None, None, text), str(limit)) == (limit, text)
