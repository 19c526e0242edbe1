"""The computed costs keep to the targets, and the page has one table of prices.

What is measured or defined elsewhere is no other number here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile, takewhile

import pytest

from berth.lease.config import LeaderElectionConfig
from tests.capacity.item_size import write_units
from tests.conftest import PROJECT
from tools.cost import prices
from tools.cost.bill import (
    ASSUMED,
    COUNTED_READS,
    COUNTED_WRITES,
    LEASES,
    LEDGER_LOOKS_A_SECOND,
    LOADS,
    MINUTES_A_MONTH,
    NODE_LEDGER_UNITS,
    Item,
    Mode,
    Option,
    always_on,
    idle,
    million_decisions,
    options,
    total,
)
from tools.cost.page import CLUSTERS, cost, sizes
from tools.cost.prices import SECONDS_A_MONTH
from tools.cost.usage import read_usage

CAPACITY = (PROJECT / "docs" / "reference" / "capacity.md").read_text()
TEMPLATE = PROJECT / "template.yaml"
IDLE_DOLLARS = 15.0
"""A month of an idle cluster of up to 500 nodes with the continuous watcher, at list price."""
DECISIONS_DOLLARS = 10.0
"""A million decisions on 1,000 nodes, without data transfer."""


@pytest.mark.parametrize("nodes", [100, 500])
def test_idle_small_cluster_keeps_to_its_target(nodes: int) -> None:
    small = sizes(TEMPLATE)[CLUSTERS[nodes]]
    assert total(list(idle(read_usage(), nodes, small, Mode.CONTINUOUS))) <= IDLE_DOLLARS


def test_million_decisions_keep_to_their_target() -> None:
    medium = sizes(TEMPLATE)[CLUSTERS[1_000]]
    assert total(list(million_decisions(read_usage(), 1_000, medium))) <= DECISIONS_DOLLARS


def every_item() -> Iterator[Item]:
    usage, by_name = read_usage(), sizes(TEMPLATE)
    for nodes, name in CLUSTERS.items():
        for mode in Mode:
            yield from idle(usage, nodes, by_name[name], mode)
        yield from million_decisions(usage, nodes, by_name[name])
    for option in every_option():
        yield from (*option.month, *option.decisions)


def test_every_price_is_in_the_table_with_its_source() -> None:
    assert {item.price for item in every_item()} <= set(prices.ALL)
    page = cost(TEMPLATE)
    for price in prices.ALL:
        assert f"| {price.what} |" in page
        assert price.source in page


def bill(mode: Mode, nodes: int) -> dict[str, Item]:
    size = sizes(TEMPLATE)[CLUSTERS[nodes]]
    return {item.what: item for item in idle(read_usage(), nodes, size, mode)}


def test_external_watcher_costs_no_lambda_for_watching() -> None:
    lambdas = {prices.LAMBDA_REQUEST, *prices.LAMBDA_GB_SECOND.values()}
    found = {what for what, item in bill(Mode.EXTERNAL, 500).items() if item.price in lambdas}
    assert found == {"Warm-up events", "Warm-up events: duration"}


def test_second_process_of_berth_watch_renews_its_lease_all_the_time() -> None:
    a_write_in_two_seconds = SECONDS_A_MONTH / LeaderElectionConfig().retry_period
    assert bill(Mode.EXTERNAL, 500)[LEASES].quantity > 0.8 * a_write_in_two_seconds
    assert bill(Mode.CONTINUOUS, 500)[LEASES].quantity < 0.3 * a_write_in_two_seconds


@pytest.mark.parametrize("nodes", CLUSTERS)
def test_periodic_watcher_loads_the_snapshot_in_every_run(nodes: int) -> None:
    """It compares what it lists with what was published. A snapshot has 1.9 KB for a node with its pods."""
    units = bill(Mode.PERIODIC, nodes)[LOADS].quantity / MINUTES_A_MONTH
    assert units == pytest.approx(nodes * 1.9 / 4 / 2, rel=0.1)


@pytest.mark.parametrize("mode", [Mode.CONTINUOUS, Mode.EXTERNAL])
def test_each_new_leader_has_loaded_the_snapshot(mode: Mode) -> None:
    quarters = SECONDS_A_MONTH / 900
    loads = bill(mode, 500)[LOADS].quantity / read_usage().cluster(500).snapshot_load_read_units
    assert quarters <= loads <= 3 * quarters


@pytest.mark.parametrize("mode", Mode)
def test_snapshots_are_written_in_every_mode(mode: Mode) -> None:
    small, large = (bill(mode, nodes)["Heartbeats and snapshots"].quantity for nodes in (100, 5_000))
    snapshot_kilobytes = 1.9 * (5_000 - 100)
    assert large - small == pytest.approx(snapshot_kilobytes * SECONDS_A_MONTH / (6 * 3600), rel=0.1)


def test_standby_costs_a_second_watcher_and_its_lease() -> None:
    """Less than a leader: it is the candidate that would wait for the handover without it, too."""
    [standby] = [each for each in every_option() if "WatcherStandby" in each.what]
    leader = bill(Mode.CONTINUOUS, 500)["Watcher: the leader"].dollars
    runs, *table = standby.month
    assert 0.6 * leader < runs.dollars < leader
    assert total(table) > 0.5


def every_option() -> list[Option]:
    return list(options(read_usage(), 500, sizes(TEMPLATE)["small"]))


def test_page_has_what_every_option_adds() -> None:
    page = cost(TEMPLATE)
    for each in every_option():
        assert total([*each.month, *each.decisions]) > 0
        assert f"| {each.what} |" in page


# ------------------------------------------------------------------------------- what is measured or defined elsewhere


def rows(heading: str) -> list[list[str]]:
    """The first table of docs/reference/capacity.md below this heading, without its header."""
    below = CAPACITY[CAPACITY.index(heading) :].splitlines()
    table = takewhile(lambda line: line.startswith("|"), dropwhile(lambda line: not line.startswith("|"), below))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table][2:]


def measured_seconds(nodes: int, memory: int) -> float:
    """A first list and publication without imports, with this memory, by the measured ones beside it."""
    measured = [
        (int(row[1].replace(",", "")), (float(row[4]) - float(row[3])) * int(row[2].replace(",", "")))
        for row in rows("### With Lambda's share of a processor")
        if row[0] == "`watcher`" and row[2] in ("512", "1,024") and (row[1] == "5,000") == (row[2] == "1,024")
    ]
    below = max(((0, 0.0), *((count, work) for count, work in measured if count <= nodes)))
    above = min(each for each in measured if each[0] >= nodes)
    share = 0.0 if above == below else (nodes - below[0]) / (above[0] - below[0])
    return (below[1] + share * (above[1] - below[1])) / memory


@pytest.mark.parametrize("nodes", CLUSTERS)
def test_periodic_list_takes_what_was_measured(nodes: int) -> None:
    memory = sizes(TEMPLATE)[CLUSTERS[nodes]].watcher_memory
    assert ASSUMED.periodic_seconds[nodes] == round(measured_seconds(nodes, memory))


def test_alarms_are_those_that_every_stack_has() -> None:
    resources = re.split(r"^  (?=\w+:$)", TEMPLATE.read_text(), flags=re.M)
    alarms = [each for each in resources if "    Type: AWS::CloudWatch::Alarm" in each]
    assert ASSUMED.alarms == sum("    Condition: " not in each for each in alarms)


def test_warm_ups_are_those_of_a_stack_with_certificates() -> None:
    [warmed] = re.findall(r"&warm-up-aliases\n(.*?)!If", TEMPLATE.read_text(), re.S)
    functions = re.findall(r"!Ref (\w+)Function\.Alias", warmed)
    for cluster in read_usage().clusters:
        assert [name.lower() for name in functions] == [name.replace("_", "") for name in cluster.warm_ups]


def test_line_of_the_access_log_is_as_long_as_its_format_makes_it() -> None:
    [form] = re.findall(r"Format: >-\n(.*?)\n        - !Ref", TEMPLATE.read_text(), re.S)
    values = {
        "requestId": "JKJaXmPLvHcESHA=",
        "requestTime": "21/Nov/2026:10:15:30 +0000",
        "sourceIp": "203.0.113.201",
        "serialNumber": "4f:" * 19 + "4f",
        "routeKey": "POST /scheduler/prioritize",
        "status": "200",
        "responseLength": "4891",
        "responseLatency": "25",
        "integrationLatency": "20",
        "integrationStatus": "200",
    }

    def value(variable: re.Match[str]) -> str:
        return values.get(variable[0].rpartition(".")[2], "-")

    line = re.sub(r"\$context[.\w]+", value, " ".join(form.split()))
    assert ASSUMED.access_log_bytes == pytest.approx(len(line), rel=0.03)


def test_counted_resources_cost_what_their_table_says() -> None:
    """With 1.9 KB for a node with 8 pods, `the item` is two write units and one read unit."""
    of = {what: (writes, reads) for what, writes, reads in rows("## Counted resources")}
    assert "1.9 KB with 8 pods" in CAPACITY
    assert write_units(1_900) == NODE_LEDGER_UNITS

    def units(text: str, item: int) -> int:
        return sum(item if each.strip() == "the item" else int(each) for each in text.split(",")[0].split("+"))

    life = [
        "bind: announce and reserve",
        "the watcher confirms the entry and closes the open reservation",
        "the pod ends",
    ]
    assert sum(units(of[each][0], NODE_LEDGER_UNITS) for each in life) == COUNTED_WRITES
    reads = of["filter, prioritize, preempt: read which pods are being bound"][1]
    assert 2 * units(reads, 1) + sum(units(of[each][1], 1) for each in life[1:2]) + 1 == COUNTED_READS
    looks = of["the watcher reads the marker and the open reservations, every 2 s"][1]
    assert units(looks, 1) / 2 == LEDGER_LOOKS_A_SECOND
    assert of["a new leader claims each node's ledger"][0] == "the item"


def test_comparison_is_for_two_replicas_and_a_month() -> None:
    assert all(item.quantity == 2 * 730 for item in always_on())
