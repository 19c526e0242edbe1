"""The main reason of a decision is the reason that rejects the most nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from berth.scheduling.evaluation.verdicts import NONE_REJECTED, Rejected
from berth.scheduling.feasibility import Feasibility
from berth.scheduling.framework.plugin import Status, unresolvable, unschedulable
from berth.scheduling.reason_code import ReasonCode

CORDONED = unresolvable("NodeUnschedulable", "cordoned", reason_code=ReasonCode.NODE_UNSCHEDULABLE)
NOT_READY = unresolvable("NodeReady", "not ready", reason_code=ReasonCode.NODE_NOT_READY)
UNKNOWN = unresolvable("NodeReady", "unknown", reason_code=ReasonCode.NODE_NOT_READY)
FULL = unschedulable("NodeResourcesFit", "Too many pods", reason_code=ReasonCode.TOO_MANY_PODS)


def rejected(statuses: Sequence[Status], known: Sequence[Status]) -> Rejected:
    """Return a rejected node for each status. known: the distinct statuses, in the order of their numbers."""
    names = [f"n{number}" for number in range(len(statuses))]
    return Rejected(names, bytes(map(known.index, statuses)), known)


@pytest.mark.parametrize(
    ("statuses", "failed", "code"),
    [
        pytest.param([], [], None, id="no reason if no node is rejected"),
        pytest.param([CORDONED, NOT_READY, CORDONED], [], ReasonCode.NODE_UNSCHEDULABLE, id="reason of most nodes"),
        pytest.param([CORDONED, NOT_READY], [], ReasonCode.NODE_NOT_READY, id="first by name if equally frequent"),
        pytest.param(
            [CORDONED, CORDONED, NOT_READY, UNKNOWN, NOT_READY],
            [],
            ReasonCode.NODE_NOT_READY,
            id="several reasons of one code count together",
        ),
        pytest.param([], [FULL, CORDONED, FULL], ReasonCode.TOO_MANY_PODS, id="of nodes where preemption may help"),
        pytest.param([CORDONED], [FULL, FULL], ReasonCode.TOO_MANY_PODS, id="both maps count"),
    ],
)
def test_main_reason_is_the_most_frequent_reason(
    statuses: Sequence[Status], failed: Sequence[Status], code: ReasonCode | None
) -> None:
    preemptible = {f"f{number}": status for number, status in enumerate(failed)}
    # A warm environment knows the statuses in another order than a cold one.
    for known in permutations((CORDONED, NOT_READY, UNKNOWN)):
        unresolved = rejected(statuses, known) if statuses else NONE_REJECTED
        assert Feasibility([], preemptible, unresolved).main_reason_code == code
