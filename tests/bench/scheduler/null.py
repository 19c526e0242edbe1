"""`python -m tests.bench.scheduler.null PORT FOLDER`: answers each verb with the lines of its file, by turns.

It has the HTTP server of `berth serve`, made by the same function, so the difference of the two is Berth's share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path

from berth_cli.server.http.limits import Limits
from berth_cli.server.http.messages import Request, Response
from berth_cli.server.http.server import Server, listen
from tests.e2e.kubernetes.loopback import HOST


class NullVerbs:
    """Answers without looking at the request."""

    limits = Limits()

    def __init__(self, answers: Mapping[str, Iterator[bytes]]) -> None:
        """answers: by path."""
        self._answers = answers

    def begin(self, request: Request) -> None:
        """None."""

    def answer(self, request: Request) -> Response:
        return Response(200, next(self._answers[request.path]))


if __name__ == "__main__":
    FILES = {f"/scheduler/{file.name}": file.read_bytes().splitlines() for file in Path(sys.argv[2]).iterdir()}
    VERBS = NullVerbs({path: cycle(lines) for path, lines in FILES.items()})
    Server(VERBS).run(listen(HOST, int(sys.argv[1])))
