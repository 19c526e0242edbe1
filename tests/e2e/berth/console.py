"""`berth console`, and the page of `berth serve --console`, as a person opens them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.loopback import free_port

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
