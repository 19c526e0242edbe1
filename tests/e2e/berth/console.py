"""`berth console`, and the page of `berth serve --console`, as a person opens them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import urllib3

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.loopback import HOST, free_port

from .berth_serve import COMMAND
from .identities import serve

START_SECONDS = 60
ADDRESS = re.compile(r"^console: (\S+)", re.MULTILINE)

# Tab.wait_for answers two seconds before its own limit.
WITHIN_TWO_SECONDS = 4


def last_address(log: Path) -> str:
    """The one that opens the page now."""
    return [each[1] for each in ADDRESS.finditer(log.read_text())][-1]


class ConsoleServe:
    """`berth serve --console` on the same two ports each time that it is started."""

    def __init__(self, control_plane: ControlPlane, directory: Path, *options: str, **more: Any) -> None:
        """options: more options of the command. more: those of BerthServe."""
        self._port, self._console_port = free_port(), free_port()
        console = ["--console", f"--console-port={self._console_port}"]
        self.serve = serve(control_plane, directory, port=self._port, options=[*console, *options], **more)
        self._log = directory / f"berth-serve-{self._port}.log"

    @property
    def origin(self) -> str:
        """The page's."""
        return f"http://127.0.0.1:{self._console_port}"

    @property
    def address(self) -> str:
        """The one that was printed last."""
        return last_address(self._log)


class ConsoleCommand:
    """`berth console` with these options, until the context exits."""

    def __init__(self, directory: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self._port = free_port()
        self._log = directory / f"berth-console-{self._port}.log"
        self._options = options
        self._environment = environment or os.environ

    def __enter__(self) -> Self:
        self._process = ChildProcess(
            [COMMAND, "console", f"--port={self._port}", *self._options], self._log, self._environment
        )
        try:
            self._process.wait_until(lambda: ADDRESS.search(self._log.read_text()) is not None, seconds=START_SECONDS)
        except BaseException:
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    @property
    def origin(self) -> str:
        """The page's."""
        return f"http://{HOST}:{self._port}"

    @property
    def address(self) -> str:
        """The one that was printed last."""
        return last_address(self._log)

    def session(self) -> ConsoleSession:
        """As a browser opens the address."""
        return ConsoleSession(self.origin, self.address.partition("#token=")[2])


class ConsoleSession:
    """What the page asks for."""

    def __init__(self, origin: str, token: str) -> None:
        self._origin = origin
        found = self._ask("POST", "/session", {"Origin": origin, "Authorization": f"Bearer {token}"})
        self._headers = {"Authorization": f"Bearer {found['session']}"}

    def get(self, path: str) -> Any:
        """The document; of a refusal its reason."""
        return self._ask("GET", path, self._headers)

    def _ask(self, method: str, path: str, headers: Mapping[str, str]) -> Any:
        return urllib3.request(method, f"{self._origin}{path}", headers=dict(headers), timeout=30, retries=False).json()
