"""docs/reference/cost.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tools.cost import prices
from tools.cost.bill import (
    ASSUMED,
    Item,
    Mode,
    Size,
    always_on,
    idle,
    million_decisions,
    options,
    rules_about_pods,
    total,
    transfer,
)
from tools.cost.usage import Usage, read_usage
from tools.reference.markdown import page, paragraph, table

CLUSTERS: Mapping[int, str] = {100: "small", 500: "small", 1_000: "medium", 5_000: "large"}
"""The ClusterSize for a number of nodes."""

OPTIONS_NODES = 500

MODES = (Mode.CONTINUOUS, Mode.PERIODIC, Mode.EXTERNAL)

INTRODUCTION = """What an installation costs at list price on demand, in us-east-1, in dollars. The page is computed:
the quantities are counted in the real code or stated below as assumptions, and the prices are those of the last table.
**None of it was compared with a bill**: Berth has not run on AWS yet."""

HOW = """Counted: units of DynamoDB, bytes of log lines, sizes of requests and compressed answers, from real handlers on
an emulated table (`python -m tests.capacity.usage`); the time that watchers run, their leases and reads, from a
simulated day with hand-overs and dropped starts; the units of publications and of loads of a snapshot, from the model
of [capacity](capacity.md). Memory is the template's, by ClusterSize. Not counted: what tables, logs and code take in
storage, unless a line says so, and what you do by hand, such as `berth explain` or queries of logs."""


def cost(template: Path) -> str:
    """The page."""
    return page("Cost", "tools/cost", _parts(read_usage(), sizes(template)))


def sizes(template: Path) -> Mapping[str, Size]:
    """The template's ClusterSizes by name."""
    mapping = yaml.load(template.read_text(encoding="utf-8"), _Loader)["Mappings"]["ClusterSizes"]  # noqa: S506
    return {name: Size(name, each["VerbMemory"], each["WatcherMemory"]) for name, each in mapping.items()}


def _parts(usage: Usage, by_name: Mapping[str, Size]) -> Iterator[str]:
    clusters = {nodes: by_name[name] for nodes, name in CLUSTERS.items()}
    yield paragraph(INTRODUCTION)
    yield paragraph(HOW)
    yield "## An idle cluster, for a month"
    yield paragraph(
        "An EKS cluster with mutual TLS and without pods to place. It has the template's profile and no applied "
        "configuration. `external` is two processes of `berth watch` in the cluster, without the resources of their "
        "pods. [Options](#what-options-add) cost extra."
    )
    rows = [
        [f"{nodes:,}", size.name, *(_dollars(total(idle(usage, nodes, size, mode))) for mode in MODES)]
        for nodes, size in clusters.items()
    ]
    yield table(["nodes", "ClusterSize", *(f"`{mode}`, $" for mode in MODES)], rows)
    yield paragraph("The continuous watcher's month in detail:")
    yield _detail({_nodes(nodes): list(idle(usage, nodes, size, Mode.CONTINUOUS)) for nodes, size in clusters.items()})
    yield paragraph("The other modes in detail:")
    yield _detail(
        {
            f"`{mode}`, {nodes:,} nodes": list(idle(usage, nodes, clusters[nodes], mode))
            for mode in (Mode.PERIODIC, Mode.EXTERNAL)
            for nodes in (500, 5_000)
        }
    )
    yield "## A million decisions"
    yield paragraph(
        "A decision is one placed pod: filter, prioritize and bind. One pod is placed each second, and each changes "
        "four times. Data transfer is in the next table."
    )
    yield _detail({_nodes(nodes): list(million_decisions(usage, nodes, size)) for nodes, size in clusters.items()})
    yield paragraph(
        "Under [rules about other pods](../concepts/rules-about-pods.md#cost) they cost more, on clusters of any size. "
        "bind takes three round trips longer. A position that was taken costs a write unit and the reads again."
    )
    items = list(rules_about_pods())
    rows = [[item.what, _dollars(item.dollars)] for item in items]
    yield table(["what", "$"], [*rows, ["**Together**", f"**{_dollars(total(items))}**"]])
    yield "## What options add"
    yield paragraph(
        f"To a month and to a million decisions, each option by itself, on {OPTIONS_NODES} nodes with "
        f"`{clusters[OPTIONS_NODES].name}` and the continuous watcher. The standby's runs and the claims of new "
        "leaders grow with the cluster. Members of a gang that wait longer for each other read more. "
        "`decisions: table` keeps one decision a second."
    )
    yield table(
        ["option", "a month, $", "a million decisions, $"],
        [
            [each.what, *(_dollars(total(items)) if items else "" for items in (each.month, each.decisions))]
            for each in options(usage, OPTIONS_NODES, clusters[OPTIONS_NODES])
        ],
    )
    yield "## Data transfer of a million decisions"
    yield paragraph(
        "All nodes pass the filter, so the lists of names are at their longest. Requests into AWS cost nothing, except "
        "through a NAT gateway. kube-scheduler does not compress its requests. Answers above 8 KB are compressed."
    )
    yield _detail({_nodes(nodes): list(transfer(usage, nodes)) for nodes in clusters}, with_total=False)
    yield "## Beside an extender that always runs"
    yield paragraph("Two replicas for availability, for a month, without load balancer, logs and operation:")
    rows = [[item.what, _dollars(item.dollars)] for item in always_on()]
    yield table(["what", "$"], [*rows, ["Two pods in the cluster", "the capacity of the nodes"]])
    yield "## Free tier"
    yield paragraph(
        "Not subtracted above. Each month an account has free of charge: 1,000,000 requests and 400,000 GB-seconds of "
        "Lambda, 10 custom metrics, 10 alarms, three dashboards, 5 GB of logs, 14 million invocations of EventBridge "
        "Scheduler, and 100 GB of data transfer to the internet."
    )
    yield "## Assumptions"
    yield table(
        ["what", "value"],
        [
            [
                "Billed duration of a warm filter or prioritize, with a read of DynamoDB",
                f"{ASSUMED.verb_milliseconds:g} ms",
            ],
            ["Billed duration of a bind, with two calls of the API server", f"{ASSUMED.bind_milliseconds:g} ms"],
            ["Billed duration of a warm-up event", f"{ASSUMED.warm_up_milliseconds:g} ms"],
            [
                "A list and a publication of the periodic watcher",
                ", ".join(f"{nodes:,} nodes: {seconds:g} s" for nodes, seconds in ASSUMED.periodic_seconds.items()),
            ],
            ["Line of the API's access log", f"{ASSUMED.access_log_bytes} bytes"],
            [
                "Seconds of all runs of the continuous watcher, for each second",
                f"{usage.watcher.continuous.running_share:g}",
            ],
            ["Start of a run of the watcher", "cold, 0.3 to 2.5 s (tests/simulation/nodecache/day.py)"],
        ],
    )
    yield paragraph(
        "The durations of calls and of warm-up events are assumptions, not measurements on Lambda. Those of the "
        "periodic watcher come from the measurements in [capacity](capacity.md), which are not from Lambda either. "
        "[`make acceptance`](../how-to/acceptance.md) shows what CloudWatch counted in your account, GB-seconds among "
        "it. `berth bench` measures something else: the time of a call with the network, which is longer than what is "
        "billed."
    )
    yield "## Prices"
    yield paragraph(f"List prices as of {prices.AS_OF}. Check them at their source: prices change.")
    yield table(
        ["what", "$", "for a", "source"],
        [
            [each.what, f"{each.dollars:.10f}".rstrip("0").rstrip("."), each.unit, f"<{each.source}>"]
            for each in prices.ALL
        ],
    )


def _nodes(nodes: int) -> str:
    return f"{nodes:,} nodes"


def _detail(bills: Mapping[str, list[Item]], *, with_total: bool = True) -> str:
    """A table of items by column. A column that lacks an item is empty there."""
    names = list(dict.fromkeys(item.what for items in bills.values() for item in items))
    amounts = {column: {item.what: _dollars(item.dollars) for item in items} for column, items in bills.items()}
    rows = [[name, *(amounts[column].get(name, "") for column in bills)] for name in names]
    if with_total:
        rows.append(["**Together**", *(f"**{_dollars(total(items))}**" for items in bills.values())])
    return table(["$", *bills], rows)


def _dollars(amount: float) -> str:
    return f"{amount:,.2f}"


class _Loader(yaml.CSafeLoader):
    """Knows CloudFormation's short forms well enough to skip them."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
