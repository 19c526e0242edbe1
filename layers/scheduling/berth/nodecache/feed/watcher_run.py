"""What one run of the watcher came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WatcherOutcome(StrEnum):
    """How one run of the watcher ended."""

    NOT_NEEDED = "not-needed"
    HANDED_OVER = "handed-over"
    DEPOSED = "deposed"
    NEVER_LED = "never-led"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"
    TABLE_UNAVAILABLE = "failure-table-unavailable"
    CONFIGURATION_INVALID = "failure-configuration-invalid"


@dataclass(frozen=True, slots=True)
class WatcherRun:
    """What one run did. `reason`: of a failure, or the last trouble overcome.

    Left out of what is published: `oversized` and `unencodable` objects, the first few of them named in `left_out` with
    the reason, and `nameless` ones (how often one was told of).
    """

    outcome: WatcherOutcome
    publications: int = 0
    objects: int = 0
    oversized: int = 0
    reason: str = ""
    unencodable: int = 0
    nameless: int = 0
    left_out: tuple[str, ...] = ()
    nodes: int = 0

    @property
    def failed(self) -> bool:
        """Whether somebody should look at it."""
        return self.outcome.startswith("failure-") or bool(self.left_out or self.nameless)

    @property
    def told(self) -> str:
        """All of it in one line, for a log."""
        parts = [self.reason] if self.reason else []
        if self.publications:
            parts.append(f"{self.publications} publications, {self.objects} objects of them {self.nodes} nodes")
        if self.nameless:
            parts.append(f"left out {self.nameless} without a name")
        return "; ".join((*parts, *(f"left out {each}" for each in self.left_out)))
