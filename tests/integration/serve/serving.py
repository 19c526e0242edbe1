"""`berth serve` in a process of its own, as tests start and call it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from berth_cli.server.http.limits import Limits
from tests.builders.http_calls import Caller

# The entry point of the `berth` command, in this interpreter.
BERTH = [sys.executable, "-c", "from berth_cli.main import main; main(prog_name='berth')", "serve"]
ADDRESS = re.compile(r"Berth serves the profile (\S+) on https?://127\.0\.0\.1:(\d+)/scheduler")


@dataclass
class Served:
    """A running `berth serve`, the port it printed, and what it printed after that."""

    process: subprocess.Popen[str]
    profile: str
    port: int
    second_line: str
    third_line: str

    def ctrl_c(self, by: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Stop the server as Ctrl-C does; it must end before idle connections expire. Return exit code and new output.

        by: the signal. It is sent after the server has answered a request: as a shell's background job, `berth serve`
        ignores Ctrl-C until it serves.
        """
        caller = Caller(self.port)
        caller.request("GET", "/healthz")
        caller.close()
        self.process.send_signal(by)
        out, err = self.process.communicate(timeout=Limits().keep_alive_seconds / 2)
        return self.process.returncode, out, err


def start(*arguments: str, variables: Mapping[str, str] | None = None) -> Served:
    process = subprocess.Popen(
        [*BERTH, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment() | dict(variables or {}),
    )
    assert process.stdout is not None
    # Log lines may come first, for example about an unreachable cluster.
    found = next(filter(None, map(ADDRESS.match, process.stdout)), None)
    if found is None:
        process.kill()
        raise AssertionError(process.communicate())
    return Served(process, found[1], int(found[2]), process.stdout.readline(), process.stdout.readline())


def environment() -> dict[str, str]:
    """Return the environment of a user's shell, without variables of AWS or of Berth."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "BERTH_", "POWERTOOLS_"))}
    return kept | {"PYTHONUNBUFFERED": "1"}


@contextmanager
def serving(*arguments: str) -> Iterator[Served]:
    served = start(*arguments)
    try:
        yield served
    finally:
        served.process.kill()
        served.process.communicate()


def calling(served: Served) -> closing[Caller]:
    return closing(Caller(served.port))


def eventually(condition: Callable[[], Any], seconds: float) -> float:
    """Wait until the condition holds, and return how many seconds it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds
        time.sleep(0.02)
    return time.monotonic() - started
