"""DynamoDB Local: AWS' own emulator of DynamoDB. Its license allows only tests (`tools/dynamodb_local`).

It enforces what moto and ministack do not, such as unused placeholders, and reports the consumed capacity.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Self

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.loopback import HOST, free_port, get_status

from .listening import require_only_listener
from .sam import PROJECT

JARS = PROJECT / ".tools" / "dynamodb_local" / "lib"
READY = JARS.with_name(".ready")
LAUNCHER = PROJECT / "tools" / "dynamodb_local" / "Loopback.java"
START_SECONDS = 120


def missing() -> str:
    """Return why the emulator cannot be started; empty if it can."""
    if shutil.which("javac") is None:
        return "DynamoDB Local needs a Java development kit, 17 or later"
    return "" if READY.exists() else "DynamoDB Local is not installed: make tools, with Maven"


class DynamoDBLocal:
    """Starts the emulator in memory, on the loopback address, and stops it; its log is in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self._process: ChildProcess | None = None
        self.endpoint_url = f"http://{HOST}:{self._port}"

    def __enter__(self) -> Self:
        options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(self._port)]
        # The emulator runs for seconds, too short for the optimizing compiler to pay off.
        compiler = "-XX:TieredStopAtLevel=1"
        jvm = [f"-Djava.library.path={JARS}", "-Djava.net.preferIPv4Stack=true", "-XX:+UseSerialGC", compiler]
        self._process = ChildProcess(
            ["java", *jvm, "-cp", f"{JARS}/*", LAUNCHER, *options], self._directory / f"dynamodb-local-{self._port}.log"
        )
        try:
            self._process.wait_until(lambda: get_status(self.endpoint_url) != 0, seconds=START_SECONDS)
            require_only_listener("DynamoDB Local", self._process.pid, HOST)
        except BaseException:
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.stop()
