"""`berth serve` as a user runs it: a command, a kubeconfig and a configuration file."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import urllib3

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.loopback import HOST, free_port

COMMAND = Path(__file__).parents[3] / ".venv" / "bin" / "berth"

CONFIGURATION = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: label-priority
"""

OF_THE_CHART = "berth-of-the-chart"

# The cluster's own scheduler, and the schedulers that tests add.
SCHEDULER_NAMES = (
    *("default-scheduler", "berth-scheduler", OF_THE_CHART, "berth-second"),
    *("full", "rules", "teams", "segregation"),
)

LEDGER_SECONDS = 180
POLL_SECONDS = 0.5
START_SECONDS = 60
# Exit codes after Ctrl-C: a clean stop, or an end by the signal.
ENDED_BY_CTRL_C = (0, 128 + signal.SIGINT)


@dataclass(frozen=True)
class MutualTLS:
    """PEM files. `client_certificate` and `client_key` are for the readiness check."""

    server_certificate: Path
    server_key: Path
    client_ca: Path
    allow_list: Path
    client_certificate: Path
    client_key: Path

    @property
    def options(self) -> list[str]:
        return [
            f"--tls-cert={self.server_certificate}",
            f"--tls-key={self.server_key}",
            f"--client-ca={self.client_ca}",
            f"--allow-list={self.allow_list}",
        ]


class BerthServe:
    """Starts the command with this document in `directory`, and stops it by Ctrl-C.

    `cluster`: the watcher's kubeconfig, also used by bind if `binder` is not given; a dump if `is_dump`.
    """

    def __init__(
        self,
        cluster: Path,
        directory: Path,
        *,
        binder: Path | None = None,
        port: int | None = None,
        document: str = CONFIGURATION,
        command: Sequence[str | Path] = (COMMAND,),
        tls: MutualTLS | None = None,
        is_healthy: bool = True,
        is_dump: bool = False,
        options: Sequence[str] = (),
    ) -> None:
        """is_healthy: if False, /healthz may also return 503. options: more options of the command."""
        self._options = options
        self._tls = tls
        self._statuses = (200,) if is_healthy else (200, 503)
        self._port = port or free_port()
        self._cluster = f"--{'cluster' if is_dump else 'kubeconfig'}={cluster}"
        self._binder = binder
        self._configuration = directory / "berth.yaml"
        self._document = document
        self._command = command
        self._log = directory / f"berth-serve-{self._port}.log"
        self._process: ChildProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Start the command and return when it is healthy. A later start uses the same port again."""
        self._configuration.write_text(self._document)
        self._process = ChildProcess(
            [
                *self._command,
                "serve",
                f"--host={HOST}",
                f"--port={self._port}",
                self._cluster,
                *([f"--binder-kubeconfig={self._binder}"] if self._binder else []),
                f"--config={self._configuration}",
                *(f"--scheduler-name={name}" for name in SCHEDULER_NAMES),
                *(self._tls.options if self._tls else ()),
                *self._options,
            ],
            log=self._log,
        )
        try:
            self._process.wait_until(self._is_healthy, seconds=START_SECONDS)
        except BaseException:
            self._process.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Return the id of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def url_prefix(self) -> str:
        return f"{self._address}/scheduler"

    @property
    def _address(self) -> str:
        return f"{'https' if self._tls else 'http'}://{HOST}:{self._port}"

    def stop(self) -> None:
        """Stop the command by Ctrl-C; a second stop does nothing."""
        if self._process is None:
            return
        exit_code = self._process.stop(by=signal.SIGINT)
        self._process = None
        assert exit_code in ENDED_BY_CTRL_C, f"berth serve ended with {exit_code}, see {self._log}"

    def kill(self) -> None:
        """End the command by SIGKILL, without a handover."""
        if self._process is not None:
            self._process.stop(by=signal.SIGKILL)
            self._process = None

    def wait_for_ledger(self, *nodes: str) -> None:
        """Wait until counted pods can be bound to these nodes. After a crash, the old Lease must expire first."""
        deadline = time.monotonic() + LEDGER_SECONDS
        while not set(nodes) <= (found := self._nodes_of_ledger()):
            assert time.monotonic() < deadline, f"after {LEDGER_SECONDS} s the ledger has {sorted(found)}"
            time.sleep(POLL_SECONDS)

    def _nodes_of_ledger(self) -> set[str]:
        with self._pool() as pool:
            answer = pool.request("GET", f"{self._address}/reservations", retries=False)
        return {each["node"] for each in answer.json().get("nodes", ())}

    def _is_healthy(self) -> bool:
        try:
            with self._pool() as pool:
                answer = pool.request("GET", f"{self._address}/healthz", retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status in self._statuses

    def _pool(self) -> urllib3.PoolManager:
        if self._tls is None:
            return urllib3.PoolManager()
        return urllib3.PoolManager(
            ca_certs=str(self._tls.server_certificate),
            cert_file=str(self._tls.client_certificate),
            key_file=str(self._tls.client_key),
        )
