"""A subprocess that its starter stops by its pid."""

from __future__ import annotations

import atexit
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

POLL_SECONDS = 0.05
STOP_SECONDS = 15

# A shell lets its background jobs ignore SIGINT, and their child processes would ignore it, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class ChildProcess:
    """Runs `command` with its output in `log`, in a separate session.

    In a separate session the process does not receive a Ctrl-C from the terminal: the test session itself ends its
    processes, in the right order.
    """

    def __init__(self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None) -> None:
        """environment: the variables of the process; None for the environment of the tests."""
        self._log = log
        self._command = [str(word) for word in command]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )
        # A caller that is interrupted before its `with` begins, or while it cleans up, would not stop the process.
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], *, seconds: float) -> None:
        """Poll `ready`. Raises an error with the log if the process ends early or is too slow."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None:
                raise ChildProcessError(f"{self._name} exited with {self._process.returncode}\n{self._tail()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._name} is not ready after {seconds} s\n{self._tail()}")
            time.sleep(POLL_SECONDS)

    def wait(self) -> int:
        """Wait until the process ends, and return its exit code."""
        return self._process.wait()

    def send(self, what: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self._process.poll() is None:
            self._process.send_signal(what)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End the process, by SIGKILL if necessary, and return its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(by)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    @property
    def _name(self) -> str:
        return " ".join(self._command[:2])

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
