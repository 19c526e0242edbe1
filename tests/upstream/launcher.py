"""Starts `berth serve` for the Go tests by a fork from a process that has loaded Berth: 0.3 s instead of 3 s.

A connection to the Unix socket starts a server: its first line is JSON with `arguments` of `berth serve` and a `log`
file. When the connection closes, or its client dies, the server is killed. Its store is in memory, so nothing is left.

Runs with the interpreter of the Berth that is tested: `python launcher.py SOCKET`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys

# The modules that `berth serve` loads when it starts.
PRELOADED = (
    "berth_cli.main",
    "berth_cli.commands.serve",
    "berth_cli.server.local_stack",
    "berth_cli.server.watcher_thread",
    "berth_cli.server.http.server",
    "berth_cli.configuration.changed_file",
    "kubernetes.client",
    "kubernetes.config",
)


def main(path: str) -> None:
    """Serve until SIGTERM. The socket exists as soon as it can be used."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(16)
    os.rename(f"{path}.new", path)
    running: dict[socket.socket, int] = {}
    try:
        _serve(listener, running)
    finally:
        for child in running.values():
            _kill(child)


def _serve(listener: socket.socket, running: dict[socket.socket, int]) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                found = key.fileobj
                assert isinstance(found, socket.socket)
                if found is listener:
                    connection, _ = listener.accept()
                    running[connection] = _start(connection, (listener, *running))
                    selector.register(connection, selectors.EVENT_READ)
                elif not found.recv(1):
                    selector.unregister(found)
                    found.close()
                    _kill(running.pop(found))


def _start(connection: socket.socket, others: tuple[socket.socket, ...]) -> int:
    with connection.makefile("r") as lines:
        request = json.loads(lines.readline())
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in (connection, *others):
        each.close()
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = ["berth", "serve", *request["arguments"]]
    from berth_cli.main import main as berth

    try:
        berth()
    finally:
        os._exit(0)  # never return into the parent's loop


def _kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1])
