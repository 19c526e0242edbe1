"""The costs in docs/reference/cost.md add up, meet their targets, and match the template's memory and alarms."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PROJECT
from tests.deployment.template import of_type, read_template

HOURS_A_MONTH = 730
SECONDS_A_MONTH = HOURS_A_MONTH * 3600
TARGETS = {"An idle cluster, for a month": 15.0, "A million decisions": 10.0}
"""Maximum dollars: for 500 nodes with the continuous watcher, and for a million decisions on 1,000 nodes."""

PAGE = (PROJECT / "docs/reference/cost.md").read_text()
PRICES = {name: float(price) for name, price in re.findall(r"^\| ([\w -]+) \| ([\d.]+) \| <", PAGE, re.M)}


def rows(heading: str) -> dict[str, tuple[float, str, float]]:
    """Return quantity, price and dollars of each line of the table with the details."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| ([\d,.]+) \| ([A-Za-z][\w -]+) \| ([\d.]+) \|$", section, re.M)
    return {what: (float(quantity.replace(",", "")), price, float(dollars)) for what, quantity, price, dollars in found}


@pytest.mark.parametrize("heading", TARGETS)
def test_cost_lines_add_up_to_a_total_within_its_target(heading: str) -> None:
    [together] = re.findall(r"\*\*([\d.]+)\*\*", PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0])
    found = rows(heading)
    assert len(found) > 5
    assert {
        what for what, (quantity, price, dollars) in found.items() if abs(quantity * PRICES[price] - dollars) > 0.006
    } == set()
    assert sum(dollars for _, _, dollars in found.values()) == pytest.approx(float(together), abs=0.02)
    assert float(together) <= TARGETS[heading]


def test_leader_and_alarm_costs_match_the_template() -> None:
    template, month = read_template(), rows("An idle cluster, for a month")
    memory = template["Mappings"]["ClusterSizes"]["small"]["WatcherMemory"]
    assert month["watcher: the leader"][0] == SECONDS_A_MONTH * memory / 1024
    alarms = [
        name for name in of_type(template, "AWS::CloudWatch::Alarm") if "Condition" not in template["Resources"][name]
    ]
    assert month["alarms"][0] == len(alarms)
