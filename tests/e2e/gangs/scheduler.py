"""kube-scheduler with the output of `berth scheduler-config` for gangs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.deployment import sam
from tests.e2e.berth.scheduler_config import berth_scheduler_config_and_flags
from tests.e2e.berth.stack import DeployedStack
from tests.e2e.gangs.members import PLAIN
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import ControlPlane

HTTP_TIMEOUT = "5s"
GATES = "--feature-gates="


class Retries(StrEnum):
    """Whether the scheduler has the feature gate that scheduler-config requires for gangs. With it, a rejected pod
    that now fits waits for the end of its back-off (fact 44), which is most of the time that the tests print."""

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
        """Run until the context exits, with the output of scheduler-config for this BerthConfiguration."""
        path = self.directory / "for-scheduler-config.yaml"
        path.write_text(document)
        return self._run([f"--url={url_prefix}", f"--config={path}", f"--http-timeout={http_timeout}"])

    def run_for(self, stack: DeployedStack) -> AbstractContextManager[ChildProcess]:
        """Run kube-scheduler in the same way with the stack's password, httpTimeout and configuration in force."""
        address = f"--url={stack.url_prefix_without_credentials}"
        return self._run([f"--stack={sam.STACK_NAME}", address, "--with-password"], stack.environment())

    def _run(
        self, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> AbstractContextManager[ChildProcess]:
        document, printed = berth_scheduler_config_and_flags(*arguments, environment=environment)
        demanded = [flag.removeprefix(GATES) for flag in printed if flag.startswith(GATES)]
        gates = [*(demanded if self.retries is Retries.BOUNDED else ()), *self.gates]
        flags = [flag for flag in printed if not flag.startswith(GATES)]
        # One flag for all gates: a later flag may replace an earlier one.
        flags += [f"{GATES}{','.join(gates)}"] if gates else []
        return self.control_plane.scheduler(document, flags=flags)
