"""The rules that reject nodes for a pending pod."""

from __future__ import annotations

from berth.scheduling.evaluation.verdicts import Rejected
from berth.scheduling.framework.plugin import unresolvable, unschedulable
from berth_cli.placement.run import rules_of


def test_groups_rejections_by_plugin_and_reason_in_descending_frequency() -> None:
    statuses = [
        unschedulable("NodeResourcesFit", "Insufficient cpu", "Insufficient memory"),
        unresolvable("NodeAffinity", "no match"),
        unschedulable("NodeResourcesFit", "Insufficient memory"),
    ]
    assert [str(each) for each in rules_of(Rejected(list("abcd"), [0, 1, 2, 2], statuses))] == [
        "NodeResourcesFit: Insufficient memory (3 nodes)",
        "NodeAffinity: no match (1 node)",
        "NodeResourcesFit: Insufficient cpu (1 node)",
    ]
