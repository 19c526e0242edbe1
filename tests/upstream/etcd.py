"""One etcd for a run: each kube-apiserver that a test starts keeps its objects below a prefix of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import BINARY
from tests.e2e.kubernetes.loopback import HOST, free_port

START_SECONDS = 60


@contextmanager
def etcd(directory: Path) -> Iterator[str]:
    """Run the control plane's etcd with its data in `directory`, and give its address."""
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


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
