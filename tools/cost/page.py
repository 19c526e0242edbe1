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
    rules_about_pods,
    total,
    transfer,
)
from tools.cost.usage import Usage, read_usage
from tools.reference.markdown import page, paragraph, table

CLUSTERS: Mapping[int, str] = {100: "small", 500: "small", 1_000: "medium", 5_000: "large"}
"""The ClusterSize for a number of nodes."""

MODES = (Mode.CONTINUOUS, Mode.PERIODIC, Mode.EXTERNAL)

INTRODUCTION = """What an installation costs at list price on demand, in us-east-1, in dollars. The page is computed:
the quantities are counted in the real code or stated below as assumptions, and the prices are those of the last table.
**None of it was compared with a bill**: Berth has not run on AWS yet."""

HOW = """Counted: units of DynamoDB, bytes of log lines, sizes of requests and compressed answers, from real handlers on
an emulated table (`python -m tests.capacity.usage`); the time that watchers run, from a simulated day with hand-overs
and dropped starts; the units of publications, from the model of [capacity](capacity.md). Memory is the template's, by
ClusterSize."""


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
        "An EKS cluster with mutual TLS and without pods to place. `external` is `berth watch` in the cluster, without "
        "the resources of its pods. Kubeconfig secrets (two) and the password of Basic (one) cost $0.40 each. "
        "`WatcherStandby: true` doubles the first row of the next table. `DetailedMetrics: true` adds a dashboard "
        "($3.00), up to five alarms ($0.10 each), and up to about 50 metrics ($0.30 each)."
    )
    rows = [
        [f"{nodes:,}", size.name, *(_dollars(total(idle(usage, nodes, size, mode))) for mode in MODES)]
        for nodes, size in clusters.items()
    ]
    yield table(["nodes", "ClusterSize", *(f"`{mode}`, $" for mode in MODES)], rows)
    yield paragraph("The continuous watcher's month in detail:")
    yield _detail({nodes: list(idle(usage, nodes, size, Mode.CONTINUOUS)) for nodes, size in clusters.items()})
    yield "## A million decisions"
    yield paragraph(
        "A decision is one placed pod: filter, prioritize and bind. One pod is placed each second, and each changes "
        "four times. Data transfer is in the next table."
    )
    yield _detail({nodes: list(million_decisions(usage, nodes, size)) for nodes, size in clusters.items()})
    yield paragraph(
        "Under [rules about other pods](../concepts/rules-about-pods.md#cost) they cost more, on clusters of any size. "
        "bind takes three round trips longer. A position that was taken costs a write unit and the reads again."
    )
    items = list(rules_about_pods())
    rows = [[item.what, _dollars(item.dollars)] for item in items]
    yield table(["what", "$"], [*rows, ["**Together**", f"**{_dollars(total(items))}**"]])
    yield "## Data transfer of a million decisions"
    yield paragraph(
        "All nodes pass the filter, so the lists of names are at their longest. Requests into AWS cost nothing, except "
        "through a NAT gateway. kube-scheduler does not compress its requests. Answers above 8 KB are compressed."
    )
    yield _detail({nodes: list(transfer(usage, nodes)) for nodes in clusters}, with_total=False)
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
            ["Custom metrics of an idle stack", str(ASSUMED.metrics)],
            ["Seconds of all runs of the continuous watcher, for each second", f"{usage.watcher.running_share:g}"],
        ],
    )
    yield paragraph(
        "The durations are assumptions, not measurements on Lambda; [capacity](capacity.md) has what was measured "
        "elsewhere. `berth bench` and `make acceptance` measure them in your account."
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


def _detail(bills: Mapping[int, list[Item]], *, with_total: bool = True) -> str:
    names = list(dict.fromkeys(item.what for items in bills.values() for item in items))
    amounts = {nodes: {item.what: item.dollars for item in items} for nodes, items in bills.items()}
    rows = [[name, *(_dollars(amounts[nodes][name]) for nodes in bills)] for name in names]
    if with_total:
        rows.append(["**Together**", *(f"**{_dollars(total(items))}**" for items in bills.values())])
    return table(["$", *(f"{nodes:,} nodes" for nodes in bills)], rows)


def _dollars(amount: float) -> str:
    return f"{amount:,.2f}"


class _Loader(yaml.CSafeLoader):
    """Knows CloudFormation's short forms well enough to skip them."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
