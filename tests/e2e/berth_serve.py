"""`berth serve` as a user runs it: a command, a kubeconfig and a configuration file."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Self

import urllib3

from .child_process import ChildProcess
from .loopback import HOST, free_port

COMMAND = Path(__file__).parents[2] / ".venv" / "bin" / "berth"

CONFIGURATION = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: label-priority
"""

START_SECONDS = 60
# What a shell sees of a command that Ctrl-C ended: it took it well, or the signal ended it.
ENDED_BY_CTRL_C = (0, 128 + signal.SIGINT)


class BerthServe:
    """Starts the command in `directory`, with this document, and stops it by Ctrl-C."""

    def __init__(
        self, kubeconfig: Path, directory: Path, *, port: int | None = None, document: str = CONFIGURATION
    ) -> None:
        self._port = port or free_port()
        self._kubeconfig = kubeconfig
        self._configuration = directory / "berth.yaml"
        self._document = document
        self._log = directory / f"berth-serve-{self._port}.log"
        self._process: ChildProcess | None = None

    def __enter__(self) -> Self:
        self._configuration.write_text(self._document)
        self._process = ChildProcess(
            [
                COMMAND,
                "serve",
                f"--host={HOST}",
                f"--port={self._port}",
                f"--kubeconfig={self._kubeconfig}",
                f"--config={self._configuration}",
            ],
            log=self._log,
        )
        try:
            self._process.wait_until(self._is_healthy, seconds=START_SECONDS)
        except BaseException:
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url_prefix(self) -> str:
        return f"http://{HOST}:{self._port}/scheduler"

    def stop(self) -> None:
        """Stop the command by Ctrl-C; a second stop does nothing."""
        if self._process is None:
            return
        exit_code = self._process.stop(by=signal.SIGINT)
        self._process = None
        assert exit_code in ENDED_BY_CTRL_C, f"berth serve ended with {exit_code}, see {self._log}"

    def _is_healthy(self) -> bool:
        try:
            answer = urllib3.request("GET", f"http://{HOST}:{self._port}/healthz", retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200
