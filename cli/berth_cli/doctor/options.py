"""The options of `berth doctor`, and the findings for options that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.deployed_stack import StackUnavailable
from berth_cli.doctor.access.configuration_source import ConfigurationNotFound
from berth_cli.doctor.findings import CheckName, Finding, failed
from berth_cli.doctor.scheduler.configuration import InvalidSchedulerConfiguration
from berth_cli.scheduler_config.tls_config import TLSFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of the command line."""

    scheduler_config: Path | None = None
    scheduler_configmap: tuple[str, str] | None = None
    stack: str | None = None
    region: str | None = None
    url: str | None = None
    files: TLSFiles = TLSFiles()  # noqa: RUF009  frozen
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
        """Half of a check's time, so that the check can report a call that hangs."""
        return self.timeout / 2


T = TypeVar("T")


@dataclass(slots=True)
class InputErrors:
    """Reads each input once, and records a finding for each that cannot be read."""

    findings: list[Finding] = field(default_factory=list)

    def read(self, check: CheckName, remedy: str, read_input: Callable[[], T]) -> T | None:
        try:
            return read_input()
        except (StackUnavailable, ClusterUnavailable, InvalidSchedulerConfiguration, ConfigurationNotFound) as error:
            self.findings.append(failed(check, str(error), remedy))
            return None
