"""Dollars from usage: an idle cluster's month, a million decisions, and what options add to both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from berth.announcements.bind import TRIM_EVERY
from berth.decisions.dynamodb_table import KEPT_SECONDS
from berth.gangs.watch import POLL_SECONDS
from berth.reservations.reconciler.reconciler import Intervals
from tools.cost import prices
from tools.cost.prices import SECONDS_A_MONTH, Price
from tools.cost.usage import ClusterUsage, RunUsage, Usage

MILLION = 1e6
ARCHITECTURE = "arm64"
MINUTES_A_MONTH = SECONDS_A_MONTH / 60


class Mode(StrEnum):
    """WatcherMode of the stack."""

    CONTINUOUS = "continuous"
    PERIODIC = "periodic"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Size:
    """A value of ClusterSize as the template has it. Memory in MB."""

    name: str
    verb_memory: int
    watcher_memory: int


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the code cannot say: inputs, stated on the page. Milliseconds are billed ones.

    verb, bind, warm_up: one warm call, with a read of DynamoDB, and for bind two calls of the API server.
    periodic_seconds: list and publish, by the number of nodes. access_log_bytes: a line of the API's log. Those that
    are measured or defined elsewhere are compared with it in tests/unit/reference/test_cost.py.
    """

    verb_milliseconds: float = 15.0
    bind_milliseconds: float = 40.0
    warm_up_milliseconds: float = 15.0
    periodic_seconds: Mapping[int, float] = field(
        default_factory=lambda: {100: 3.0, 500: 13.0, 1_000: 14.0, 5_000: 46.0}
    )
    alarms: int = 10
    access_log_bytes: int = 410


ASSUMED = Assumptions()


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a bill. quantity: in the price's unit."""

    what: str
    quantity: float
    price: Price

    @property
    def dollars(self) -> float:
        """Its amount."""
        return self.quantity * self.price.dollars


def total(items: Iterable[Item]) -> float:
    """The sum, in dollars."""
    return sum(item.dollars for item in items)


def idle(usage: Usage, nodes: int, size: Size, mode: Mode, assumed: Assumptions = ASSUMED) -> Iterator[Item]:
    """A month without a pod to place. The cluster is an EKS cluster, callers have certificates, no configuration was
    applied, and nothing is counted: no secrets, and no writes but the watcher's."""
    gb_second = prices.LAMBDA_GB_SECOND[ARCHITECTURE]
    watcher, cluster = usage.watcher, usage.cluster(nodes)
    watcher_gb, verb_gb = size.watcher_memory / 1024, size.verb_memory / 1024
    starts = 0.0 if mode is Mode.EXTERNAL else MINUTES_A_MONTH
    head_writes, metric_lines = cluster.idle_head_write_units_a_second * SECONDS_A_MONTH, 1.0
    match mode:
        case Mode.CONTINUOUS:
            running = watcher.continuous.running_share * SECONDS_A_MONTH
            yield Item("Watcher: the leader", SECONDS_A_MONTH * watcher_gb, gb_second)
            waiting = (running - SECONDS_A_MONTH) * watcher_gb
            yield Item("Watcher: candidates that wait for a handover, and starts", waiting, gb_second)
            yield from _runs(watcher.continuous, cluster)
            metric_lines = watcher.metric_lines_a_minute
        case Mode.EXTERNAL:
            yield from _runs(watcher.external, cluster)
            metric_lines = 0.0
        case Mode.PERIODIC:
            yield Item("Watcher: one list a minute", starts * assumed.periodic_seconds[nodes] * watcher_gb, gb_second)
            yield Item(READS, starts * watcher.periodic.read_units, prices.READ_UNIT)
            yield Item(LOADS, starts * cluster.snapshot_load_read_units, prices.READ_UNIT)
            head_writes = starts * watcher.periodic.write_units
    if starts:
        yield Item("Watcher: starts", starts, prices.LAMBDA_REQUEST)
        yield Item("Watcher: schedule", starts, prices.SCHEDULE)
    rounds = MINUTES_A_MONTH * (1.0 if mode is Mode.PERIODIC else watcher.warm_ups_a_minute)
    yield from _warm_ups(cluster, rounds, verb_gb, assumed)
    snapshots = cluster.idle_snapshot_write_units_a_second * SECONDS_A_MONTH
    yield Item("Heartbeats and snapshots", head_writes + snapshots, prices.WRITE_UNIT)
    logged = MINUTES_A_MONTH * metric_lines * watcher.metric_line_bytes + starts * watcher.run_line_bytes
    # About one line a minute, however many events come (telemetry/metrics.py).
    logged += MINUTES_A_MONTH * watcher.warm_ups_a_minute * sum(each.log_bytes for each in cluster.warm_ups.values())
    yield Item("Logs", logged / 1e9, prices.LOG_GB)
    yield Item("Metrics", watcher.metrics, prices.METRIC)
    yield Item("Alarms", assumed.alarms, prices.ALARM)
    if mode is Mode.EXTERNAL:
        yield Item("Metrics of berth watch", MINUTES_A_MONTH, prices.CLOUDWATCH_REQUEST)


LEASES = "Watcher: leases, without the heartbeats of the leader"
READS = "Watcher: reads of leases, head and configuration"
LOADS = "Watcher: loads of the published snapshot"


def _runs(runs: RunUsage, cluster: ClusterUsage) -> Iterator[Item]:
    yield Item(LEASES, runs.write_units * SECONDS_A_MONTH, prices.WRITE_UNIT)
    yield Item(READS, runs.read_units * SECONDS_A_MONTH, prices.READ_UNIT)
    loads = runs.snapshot_loads * SECONDS_A_MONTH * cluster.snapshot_load_read_units
    yield Item(LOADS, loads, prices.READ_UNIT)


def _warm_ups(cluster: ClusterUsage, rounds: float, verb_gb: float, assumed: Assumptions) -> Iterator[Item]:
    events, reads = rounds * len(cluster.warm_ups), sum(each.read_units for each in cluster.warm_ups.values())
    seconds = events * assumed.warm_up_milliseconds / 1000
    yield Item("Warm-up events", events, prices.LAMBDA_REQUEST)
    yield Item("Warm-up events: duration", seconds * verb_gb, prices.LAMBDA_GB_SECOND[ARCHITECTURE])
    yield Item("Warm-up events: reads of the head and of the ledger's marker", rounds * reads, prices.READ_UNIT)


def million_decisions(usage: Usage, nodes: int, size: Size, assumed: Assumptions = ASSUMED) -> Iterator[Item]:
    """A million pods placed by filter, prioritize and bind, one a second, without data transfer."""
    cluster = usage.cluster(nodes)
    calls = cluster.calls
    seconds = (2 * assumed.verb_milliseconds + assumed.bind_milliseconds) / 1000 * size.verb_memory / 1024
    yield Item("API requests", MILLION * len(calls), prices.API_REQUEST)
    yield Item("Functions: requests", MILLION * len(calls), prices.LAMBDA_REQUEST)
    yield Item("Functions: duration", MILLION * seconds, prices.LAMBDA_GB_SECOND[ARCHITECTURE])
    reads = sum(each.read_units for each in calls.values())
    yield Item("Reads of the head and of the ledger's marker", MILLION * reads, prices.READ_UNIT)
    yield Item("Reads of changes", MILLION * cluster.log_read_units_a_decision, prices.READ_UNIT)
    yield Item("Publications of what happens to the pods", MILLION * cluster.write_units_a_decision, prices.WRITE_UNIT)
    logged = sum(each.log_bytes for each in calls.values()) + len(calls) * assumed.access_log_bytes
    yield Item("Logs of functions and API", MILLION * logged / 1e9, prices.LOG_GB)


def rules_about_pods() -> Iterator[Item]:
    """What the same million decisions cost more under rules about other pods, without contention.

    filter, prioritize and bind query the log, in which few small pods are open; bind reads the head, too, puts its
    announcement, and one in TRIM_EVERY queries and deletes the old ones (tests/unit/announcements/test_cost.py).
    """
    yield Item("Queries of the log of announcements", 3 * MILLION, prices.READ_UNIT)
    yield Item("Reads of the head by bind", MILLION, prices.READ_UNIT)
    yield Item("Announcements", MILLION, prices.WRITE_UNIT)
    yield Item("Queries of old announcements", MILLION / TRIM_EVERY, prices.READ_UNIT)
    yield Item("Deletions of announcements", MILLION, prices.WRITE_UNIT)


@dataclass(frozen=True, slots=True)
class Option:
    """What an option adds: to the month of a cluster, and to a million decisions."""

    what: str
    month: tuple[Item, ...] = ()
    decisions: tuple[Item, ...] = ()


NODE_LEDGER_UNITS = 2
"""Write units of a node's ledger with 8 pods (docs/reference/capacity.md, Counted resources)."""
COUNTED_WRITES = 8
COUNTED_READS = 4
"""Of a counted pod on such a node in its life, without devices: filter and prioritize read which pods are being bound,
and the watcher reads the ledger when the pod is bound and when it ends."""
LEDGER_LOOKS_A_SECOND = 2 / Intervals().poll
GANG_LOOKS_A_SECOND = 2 / POLL_SECONDS
"""Read units of the watcher that looks at the marker and the open reservations, and at gangs and their domain."""


def options(usage: Usage, nodes: int, size: Size) -> Iterator[Option]:
    """Options of the stack and of the configuration, on a cluster of so many nodes, one decision a second."""
    watcher, cluster, more = usage.watcher, usage.cluster(nodes), usage.options
    before, after = watcher.continuous, watcher.with_standby
    seconds = (after.running_share - before.running_share) * SECONDS_A_MONTH
    standby = Item("runs", seconds * size.watcher_memory / 1024, prices.LAMBDA_GB_SECOND[ARCHITECTURE])
    added = zip(_runs(after, cluster), _runs(before, cluster), strict=True)
    table = tuple(Item(new.what, new.quantity - old.quantity, new.price) for new, old in added)
    yield Option("`WatcherStandby: true`", (standby, *table))
    yield Option(
        "`DetailedMetrics: true`: dashboard, five alarms, about 50 metrics",
        (
            Item("dashboard", 1, prices.DASHBOARD),
            Item("alarms", 5, prices.ALARM),
            Item("metrics", 50 - watcher.metrics, prices.METRIC),
        ),
    )
    events = MINUTES_A_MONTH * watcher.warm_ups_a_minute
    seconds = events * ASSUMED.warm_up_milliseconds / 1000 * size.verb_memory / 1024
    yield Option(
        "`Authentication: basic`: the secret of the password, and warm-up events of the authorizer",
        (
            Item("secret", 1, prices.SECRET),
            Item("warm-up events", events, prices.LAMBDA_REQUEST),
            Item("their duration", seconds, prices.LAMBDA_GB_SECOND[ARCHITECTURE]),
        ),
    )
    yield Option("Kubeconfigs in secrets instead of EKS access entries", (Item("secrets", 2, prices.SECRET),))
    yield Option(
        "An applied configuration: a refused write for each start of the watcher",
        (Item("writes", MINUTES_A_MONTH + before.terms * SECONDS_A_MONTH, prices.WRITE_UNIT),),
    )
    yield Option(
        "A profile that scores PodTopologySpread, as `full`: a larger head, and verbs that read pods",
        (Item("heartbeats", more.full_idle_write_units_a_second * SECONDS_A_MONTH, prices.WRITE_UNIT),),
        (
            Item("writes", MILLION * more.full_write_units_a_decision, prices.WRITE_UNIT),
            Item("reads", MILLION * more.full_read_units_a_decision, prices.READ_UNIT),
        ),
    )
    # A query of binds under way, and the latest head instead of an eventual one, which bind reads in any case.
    under_way = Item("reads of warm-up events", events * (1.5 * len(cluster.warm_ups) - 0.5), prices.READ_UNIT)
    claims = before.terms * SECONDS_A_MONTH * nodes * NODE_LEDGER_UNITS
    yield Option(
        f"Counted resources, {nodes} counted nodes with 8 pods each",
        (
            Item("looks", LEDGER_LOOKS_A_SECOND * SECONDS_A_MONTH, prices.READ_UNIT),
            Item("claims of new leaders", claims, prices.WRITE_UNIT),
            under_way,
        ),
        (
            Item("writes", MILLION * COUNTED_WRITES, prices.WRITE_UNIT),
            Item("reads", MILLION * COUNTED_READS, prices.READ_UNIT),
        ),
    )
    yield Option(
        f"Gangs of {more.gang_members} members that come within a second",
        (Item("looks", GANG_LOOKS_A_SECOND * SECONDS_A_MONTH, prices.READ_UNIT),),
        (
            Item("writes", MILLION * more.member_write_units, prices.WRITE_UNIT),
            Item("reads", MILLION * (more.member_read_units + 1), prices.READ_UNIT),
        ),
    )
    yield Option("Rules about other pods", (under_way,), tuple(rules_about_pods()))
    kept = KEPT_SECONDS * more.decision_bytes / 1e9
    yield Option(
        "`decisions: table`, each call for seven days",
        (Item("storage at a decision a second", kept, prices.STORAGE_GB),),
        (Item("writes", MILLION * more.decision_write_units, prices.WRITE_UNIT),),
    )


def transfer(usage: Usage, nodes: int) -> Iterator[Item]:
    """The same million decisions: answers leave AWS, or both directions pass a NAT gateway."""
    calls = usage.cluster(nodes).calls.values()
    answered = MILLION * sum(each.answer_bytes for each in calls) / 1e9
    asked = MILLION * sum(each.request_bytes for each in calls) / 1e9
    yield Item("Answers to a scheduler outside of AWS", answered, prices.EGRESS_GB)
    yield Item("Requests and answers through a NAT gateway", asked + answered, prices.NAT_GB)


def always_on() -> Iterator[Item]:
    """Two replicas of an extender that always run, for a month."""
    hours = 2 * prices.HOURS_A_MONTH
    task = Price(
        "Fargate task with 0.25 vCPU and 0.5 GB",
        prices.FARGATE_VCPU_HOUR.dollars / 4 + prices.FARGATE_GB_HOUR.dollars / 2,
        "hour",
        prices.FARGATE_VCPU_HOUR.source,
    )
    yield Item("Two Fargate tasks with 0.25 vCPU and 0.5 GB, arm64", hours, task)
    yield Item("Two t4g.small", hours, prices.T4G_SMALL_HOUR)
