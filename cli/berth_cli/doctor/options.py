"""What the command line names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
