"""What was given and could not be had: tried once, and told as a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.deployed_stack import StackUnavailable
from berth_cli.doctor.findings import CheckName, Finding, failed
from berth_cli.doctor.scheduler.configuration import NotReadable
from berth_cli.doctor.scheduler.configuration_source import NotThere

T = TypeVar("T")


@dataclass(slots=True)
class Attempts:
    """Tries each thing once, and keeps why one could not be had."""

    findings: list[Finding] = field(default_factory=list)

    def attempt(self, check: CheckName, remedy: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except (StackUnavailable, ClusterUnavailable, NotReadable, NotThere) as error:
            self.findings.append(failed(check, str(error), remedy))
            return None
