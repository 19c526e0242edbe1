"""What the command line names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from berth.nodecache.cluster import ClusterUnavailable
from berth_cli.deployed_stack import StackUnavailable
from berth_cli.doctor.findings import CheckName, Finding, failed
from berth_cli.doctor.scheduler.configuration import NotReadable
from berth_cli.doctor.scheduler.configuration_source import NotThere
from berth_cli.scheduler_config.tls_config import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Each as its option has it."""

    scheduler_config: Path | None = None
    scheduler_configmap: tuple[str, str] | None = None
    stack: str | None = None
    region: str | None = None
    url: str | None = None
    files: Files = Files()  # noqa: RUF009  frozen
    user: str | None = None
    password_from: str | None = None
    config: Path | None = None
    kubeconfig: Path | None = None
    watcher_kubeconfig: Path | None = None
    binder_kubeconfig: Path | None = None
    watcher_user: str | None = None
    binder_user: str | None = None
    timeout: float = 10.0

    @property
    def call_timeout(self) -> float:
        """Less than a check has, so that a call that hangs is told as such."""
        return self.timeout / 2


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
