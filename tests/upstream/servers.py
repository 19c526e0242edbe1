"""The servers that all tests of a run share: an etcd with a prefix per API server, and `berth serve`'s launcher."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import BINARY
from tests.e2e.kubernetes.loopback import HOST, free_port

START_SECONDS = 60


@contextmanager
def etcd(directory: Path) -> Iterator[str]:
    """Run the control plane's etcd with its data in `directory`, and yield its address."""
    port = free_port()
    process = ChildProcess(
        [
            BINARY,
            "etcd",
            f"--data-dir={directory / 'etcd'}",
            f"--listen-client-urls=http://{HOST}:{port}",
            f"--listen-peer-urls=http://{HOST}:{free_port()}",
        ],
        log=directory / "etcd.log",
    )
    try:
        process.wait_until(lambda: _listens(port), seconds=START_SECONDS)
        yield f"http://{HOST}:{port}"
    finally:
        process.stop()


@contextmanager
def launcher(berth: Path, directory: Path) -> Iterator[Path]:
    """Run `launcher.py` with the interpreter of the command `berth`, and yield its socket."""
    # The path of a socket has at most 107 bytes.
    with TemporaryDirectory(prefix="berth-") as short:
        path = Path(short) / "launcher"
        process = ChildProcess(
            [berth.with_name("python"), Path(__file__).with_name("launcher.py"), path], log=directory / "launcher.log"
        )
        try:
            process.wait_until(path.exists, seconds=START_SECONDS)
            yield path
        finally:
            process.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
