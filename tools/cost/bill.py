"""Dollars from usage: an idle cluster's month, and a million decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from berth.announcements.bind import TRIM_EVERY
from berth.lease.config import LeaderElectionConfig
from tools.cost import prices
from tools.cost.prices import SECONDS_A_MONTH, Price
from tools.cost.usage import Usage

MILLION = 1e6
ARCHITECTURE = "arm64"
MINUTES_A_MONTH = SECONDS_A_MONTH / 60
RETRY_SECONDS = LeaderElectionConfig().retry_period


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
    periodic_seconds: list and publish, by the number of nodes. metrics: of an idle stack. access_log_bytes: a line of
    the API's log.
    """

    verb_milliseconds: float = 15.0
    bind_milliseconds: float = 40.0
    warm_up_milliseconds: float = 15.0
    periodic_seconds: Mapping[int, float] = field(
        default_factory=lambda: {100: 4.0, 500: 14.0, 1_000: 15.0, 5_000: 46.0}
    )
    metrics: int = 3
    alarms: int = 10
    warmed_functions: int = 5
    access_log_bytes: int = 480


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


def total(items: Iterator[Item] | list[Item]) -> float:
    """The sum, in dollars."""
    return sum(item.dollars for item in items)


def idle(usage: Usage, nodes: int, size: Size, mode: Mode, assumed: Assumptions = ASSUMED) -> Iterator[Item]:
    """A month without a pod to place. The cluster is an EKS cluster and callers have certificates: no secrets."""
    gb_second = prices.LAMBDA_GB_SECOND[ARCHITECTURE]
    watcher, cluster = usage.watcher, usage.cluster(nodes)
    watcher_gb, verb_gb = size.watcher_memory / 1024, size.verb_memory / 1024
    starts = 0.0 if mode is Mode.EXTERNAL else MINUTES_A_MONTH
    if mode is Mode.CONTINUOUS:
        yield Item("Watcher: the leader", SECONDS_A_MONTH * watcher_gb, gb_second)
        waiting = SECONDS_A_MONTH * (watcher.running_share - 1.0)
        yield Item("Watcher: candidates that wait for a handover, and starts", waiting * watcher_gb, gb_second)
        yield Item("Watcher: lease of the waiting candidate", waiting / RETRY_SECONDS, prices.WRITE_UNIT)
        yield Item("Watcher: reads of the waiting candidate", 2 * waiting / RETRY_SECONDS, prices.READ_UNIT)
    elif mode is Mode.PERIODIC:
        yield Item("Watcher: one list a minute", starts * assumed.periodic_seconds[nodes] * watcher_gb, gb_second)
    if starts:
        yield Item("Watcher: starts", starts, prices.LAMBDA_REQUEST)
        yield Item("Watcher: schedule", starts, prices.SCHEDULE)
    rounds = 1.0 if mode is Mode.PERIODIC else watcher.warm_ups_a_minute
    warm_ups = MINUTES_A_MONTH * rounds * assumed.warmed_functions
    yield Item("Warm-up events", warm_ups, prices.LAMBDA_REQUEST)
    yield Item("Warm-up events: duration", warm_ups * assumed.warm_up_milliseconds / 1000 * verb_gb, gb_second)
    yield Item("Warm-up events: reads of the head", warm_ups * cluster.warm_up.read_units, prices.READ_UNIT)
    written = cluster.idle_write_units_a_second * SECONDS_A_MONTH
    if mode is Mode.PERIODIC:  # a lease, a publication and a release for each run
        written = 3 * starts
    yield Item("Heartbeats and snapshots", written, prices.WRITE_UNIT)
    lines = 0.0 if mode is Mode.EXTERNAL else watcher.metric_lines_a_minute * watcher.metric_line_bytes
    of_runs = starts * watcher.run_line_bytes
    logged = MINUTES_A_MONTH * lines + of_runs + warm_ups * cluster.warm_up.log_bytes
    yield Item("Logs", logged / 1e9, prices.LOG_GB)
    yield Item("Metrics", assumed.metrics, prices.METRIC)
    yield Item("Alarms", assumed.alarms, prices.ALARM)
    if mode is Mode.EXTERNAL:
        yield Item("Metrics of berth watch", MINUTES_A_MONTH, prices.CLOUDWATCH_REQUEST)


def million_decisions(usage: Usage, nodes: int, size: Size, assumed: Assumptions = ASSUMED) -> Iterator[Item]:
    """A million pods placed by filter, prioritize and bind, one a second, without data transfer."""
    cluster = usage.cluster(nodes)
    calls = cluster.calls
    seconds = (2 * assumed.verb_milliseconds + assumed.bind_milliseconds) / 1000 * size.verb_memory / 1024
    yield Item("API requests", MILLION * len(calls), prices.API_REQUEST)
    yield Item("Functions: requests", MILLION * len(calls), prices.LAMBDA_REQUEST)
    yield Item("Functions: duration", MILLION * seconds, prices.LAMBDA_GB_SECOND[ARCHITECTURE])
    yield Item("Reads of the head", MILLION * sum(each.read_units for each in calls.values()), prices.READ_UNIT)
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
