"""The rules that reject nodes for a pending pod."""

from __future__ import annotations

from berth.scheduling.framework.plugin import unresolvable, unschedulable
from berth_cli.placement.run import rules_of


def test_groups_rejections_by_plugin_and_reason_in_descending_frequency() -> None:
    full = unschedulable("NodeResourcesFit", "Insufficient memory")
    statuses = {
        "a": unschedulable("NodeResourcesFit", "Insufficient cpu", "Insufficient memory"),
        "b": unresolvable("NodeAffinity", "no match"),
        "c": full,
        "d": full,
    }
    assert [str(each) for each in rules_of(statuses)] == [
        "NodeResourcesFit: Insufficient memory (3 nodes)",
        "NodeAffinity: no match (1 node)",
        "NodeResourcesFit: Insufficient cpu (1 node)",
    ]
