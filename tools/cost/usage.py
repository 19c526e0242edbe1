"""Usage that tests/capacity/usage.py counts in the real code and keeps in usage.json."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

USAGE = Path(__file__).with_name("usage.json")


@dataclass(frozen=True)
class CallUsage:
    """A warm call of a function, on the average. answer_bytes: compressed, if above 8 KB. log_bytes: of its lines."""

    request_bytes: int
    answer_bytes: int
    log_bytes: int
    read_units: float
    write_units: float


@dataclass(frozen=True)
class ClusterUsage:
    """By size. warm_ups: by verb. Units of an idle cluster a second; units of publications for each placed pod; units
    of one load of the whole snapshot."""

    nodes: int
    calls: dict[str, CallUsage]
    warm_ups: dict[str, CallUsage]
    idle_head_write_units_a_second: float
    idle_snapshot_write_units_a_second: float
    write_units_a_decision: float
    log_read_units_a_decision: float
    snapshot_load_read_units: float


@dataclass(frozen=True)
class RunUsage:
    """Of all runs of the watchers of an idle cluster, for each second. running_share: their seconds. Units: of leases,
    of reads of the head and of the configuration, without publications. terms: how often another run leads."""

    running_share: float
    read_units: float
    write_units: float
    snapshot_loads: float
    terms: float


@dataclass(frozen=True)
class PeriodicUsage:
    """Units of one run that changes nothing, without the load of the snapshot and without a new one."""

    read_units: float
    write_units: float


@dataclass(frozen=True)
class WatcherUsage:
    """Of an idle cluster. external: two processes of `berth watch`. metrics: how many an idle stack has."""

    continuous: RunUsage
    with_standby: RunUsage
    external: RunUsage
    periodic: PeriodicUsage
    metric_line_bytes: int
    metric_lines_a_minute: float
    run_line_bytes: int
    warm_ups_a_minute: float
    metrics: int


@dataclass(frozen=True)
class OptionUsage:
    """Beyond the default. full: a profile that scores PodTopologySpread, on 500 nodes. decision_*: an item of a
    decision in the table, on 500 nodes, for filter and prioritize together. member_*: of a member of a gang."""

    full_idle_write_units_a_second: float
    full_write_units_a_decision: float
    full_read_units_a_decision: float
    decision_write_units: float
    decision_bytes: float
    gang_members: int
    member_read_units: float
    member_write_units: float


@dataclass(frozen=True)
class Usage:
    """All of it."""

    watcher: WatcherUsage
    options: OptionUsage
    clusters: list[ClusterUsage]

    def cluster(self, nodes: int) -> ClusterUsage:
        """Raises StopIteration for a size that was not counted."""
        return next(each for each in self.clusters if each.nodes == nodes)


def read_usage() -> Usage:
    """The kept counts."""
    return TypeAdapter(Usage).validate_json(USAGE.read_bytes())
