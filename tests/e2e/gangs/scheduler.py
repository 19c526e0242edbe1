"""kube-scheduler with the output of `berth scheduler-config` for gangs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

from tests.e2e.berth.scheduler_config import berth_scheduler_config
from tests.e2e.gangs.members import PLAIN
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import ControlPlane

HTTP_TIMEOUT = "5s"


class Retries(StrEnum):
    """Whether the scheduler has the feature gate of `--bounded-retries`. With it, a pod that was rejected and now fits
    waits for the end of its back-off (fact 44): that is most of the printed seconds."""

    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class GangScheduler:
    """kube-scheduler for gangs. gates: further feature gates."""

    control_plane: ControlPlane
    directory: Path
    retries: Retries = Retries.BOUNDED
    gates: Sequence[str] = ()

    def run(
        self, url_prefix: str, document: str = PLAIN, http_timeout: str = HTTP_TIMEOUT
    ) -> AbstractContextManager[ChildProcess]:
        """Until the context exits, with the output of scheduler-config for this document of Berth."""
        path = self.directory / "for-scheduler-config.yaml"
        path.write_text(document)
        printed = berth_scheduler_config(f"--url={url_prefix}", f"--config={path}", f"--http-timeout={http_timeout}")
        bounded = ["SchedulerPopFromBackoffQ=false"] if self.retries is Retries.BOUNDED else []
        gates = ",".join([*bounded, *self.gates])
        flags = ["-v=2", *([f"--feature-gates={gates}"] if gates else [])]
        return self.control_plane.scheduler(yaml.safe_load(printed), flags=flags)
