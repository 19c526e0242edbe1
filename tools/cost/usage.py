"""Usage that tests/capacity/usage.py counts in the real code and keeps in usage.json."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

USAGE = Path(__file__).with_name("usage.json")


@dataclass(frozen=True)
class CallUsage:
    """One warm call of a function. answer_bytes: compressed, where it is above 8 KB. log_bytes: of its lines."""

    request_bytes: int
    answer_bytes: int
    log_bytes: int
    read_units: float
    write_units: float


@dataclass(frozen=True)
class ClusterUsage:
    """By size. Units of an idle cluster a second; units of publications for each placed pod."""

    nodes: int
    calls: dict[str, CallUsage]
    warm_up: CallUsage
    idle_write_units_a_second: float
    write_units_a_decision: float
    log_read_units_a_decision: float


@dataclass(frozen=True)
class WatcherUsage:
    """The continuous watcher of an idle cluster. running_share: seconds of all its runs for each second."""

    running_share: float
    metric_line_bytes: int
    metric_lines_a_minute: float
    run_line_bytes: int
    warm_ups_a_minute: float


@dataclass(frozen=True)
class Usage:
    """All of it."""

    watcher: WatcherUsage
    clusters: list[ClusterUsage]

    def cluster(self, nodes: int) -> ClusterUsage:
        """Raises StopIteration for a size that was not counted."""
        return next(each for each in self.clusters if each.nodes == nodes)


def read_usage() -> Usage:
    """The kept counts."""
    return TypeAdapter(Usage).validate_json(USAGE.read_bytes())
