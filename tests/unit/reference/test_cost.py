"""docs/reference/cost.md adds up, keeps to its targets, and has the template's memory and alarms."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

import pytest

from berth.extender.deadline import NO_DEADLINE
from berth.extender.filter import answer_filter, answer_filter_onlyone
from berth.extender.prioritize import answer_prioritize
from berth.extender.reply import Reply
from berth.runtime.http.events import lambda_answer
from berth.scheduling.configuration.document import BerthConfiguration
from tests.bench import cluster
from tests.builders.nodes import labelled
from tests.builders.requests import body_of, cache_mode
from tests.conftest import PROJECT
from tests.deployment.template import of_type, read_template
from tests.fakes.verbs import Verbs

HOURS_A_MONTH = 730
SECONDS_A_MONTH = HOURS_A_MONTH * 3600
ZONES = 2
TARGETS = {"An idle cluster, for a month": 15.0, "A million decisions": 10.0}
"""Dollars: at most so much for 500 nodes with the continuous watcher, and for a million decisions on 1,000 nodes."""

PAGE = (PROJECT / "docs/reference/cost.md").read_text()
PRICES = {name: float(price) for name, price in re.findall(r"^\| ([\w -]+) \| ([\d.]+) \| <", PAGE, re.M)}


def rows(heading: str) -> dict[str, tuple[float, str, float]]:
    """Quantity, price and dollars of each line of the table with the details."""
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


def numbers(heading: str) -> dict[int, list[float]]:
    """The other numbers of each line that begins with a number of nodes."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| ([\d,]+) \|(.+)\|$", section, re.M)
    return {int(nodes.replace(",", "")): [*map(float, re.findall(r"[\d.]+", rest))] for nodes, rest in lines}


def test_private_subnets_add_the_interface_endpoints_of_eks() -> None:
    endpoints = re.findall(
        r"^\|.*\| interface,.*\|$", (PROJECT / "docs/install/private-api-server.md").read_text(), re.M
    )
    needed = [each for each in endpoints if "not for EKS" not in each]
    added = len(needed) * ZONES * HOURS_A_MONTH * PRICES["hour of an interface endpoint in a zone"]
    for continuous, *_, private in numbers("An idle cluster, for a month").values():
        assert private == pytest.approx(continuous + added)
    assert f"${ZONES * HOURS_A_MONTH * PRICES['hour of an interface endpoint in a zone']:.2f} a month" in PAGE
    assert f"${HOURS_A_MONTH * PRICES['hour of a NAT gateway']:.2f} a month" in PAGE


@pytest.mark.parametrize("nodes", numbers("EKS, private subnets"))
def test_nat_costs_follow_from_the_bytes_of_a_decision(nodes: int) -> None:
    names = next(cluster.requested_names(nodes))
    verbs = Verbs([labelled(name, "10") for name in names], configuration=BerthConfiguration(profile="label-priority"))
    request = body_of(cache_mode(names, cluster.plain_pod()))

    def kilobytes(decide: Callable[..., Reply]) -> float:
        body = decide(request, deadline=NO_DEADLINE, cache=verbs.cache).body
        answer = lambda_answer(200, body, {"headers": {"accept-encoding": "gzip"}})
        assert answer is not None
        sent = base64.b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"]
        return (len(request or "") + len(sent)) / 1000

    one, both = kilobytes(answer_filter_onlyone), kilobytes(answer_filter) + kilobytes(answer_prioritize)
    price = PRICES["GB through NAT"]
    assert numbers("EKS, private subnets")[nodes] == pytest.approx(
        [round(both), both * price, round(one), one * price], rel=0.01
    )
