"""The server's loop survives errors of the operating system."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from threading import Thread

import pytest

from berth_cli.server.http import server
from berth_cli.server.http.limits import Limits
from berth_cli.server.http.messages import Request, Response, json_response
from berth_cli.server.http.server import Server, listen

HOST = "127.0.0.1"
CALL = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Answers:
    limits = Limits()

    def begin(self, request: Request) -> None:
        """Read the request."""

    def answer(self, request: Request) -> Response:
        return json_response(200, {})


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(listen(HOST, 0)) as opened:
        yield opened


def call(listener: socket.socket) -> bytes:
    with socket.create_connection(listener.getsockname(), timeout=5) as client:
        client.sendall(CALL)
        return client.recv(1000)


def test_refuses_a_connection_if_no_thread_can_start(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread(Thread):
        def start(self) -> None:
            if self.name == "connection":
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr("berth_cli.server.http.server.Thread", NoThread)
    with server.serve_in_thread(Answers(), listener):
        assert [call(listener)[:13] for _ in range(2)] == [b"HTTP/1.1 503 "] * 2


def test_pauses_if_connections_cannot_be_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    pauses: list[float] = []

    class Full:
        def accept(self) -> tuple[socket.socket, object]:
            tried.append(1)
            raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(time, "sleep", pauses.append)
    made: Server = Server(Answers())
    made._accept(Full())  # type: ignore[arg-type]
    assert (len(tried), pauses) == (1, [server.TICK_SECONDS])


def test_server_can_be_stopped_before_and_after_it_runs(listener: socket.socket) -> None:
    made = Server(Answers())
    made.stop(listener)
    made.run(listener)
    made.stop(listener)
