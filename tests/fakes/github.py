"""The part of GitHub's API that comments on pull requests need, on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

REPOSITORY = "team/cluster"
TOKEN = "github-token"


@dataclass(slots=True)
class FakeGitHub:
    """`comments`: id and body, of every pull request alike. `refuses`: methods that are answered with 403."""

    address: str = ""
    comments: dict[int, str] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)
    requests: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, method: str, target: str, token: str, body: Any) -> tuple[int, object]:
        """The status and the content of an answer."""
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        self.requests.append((method, path))
        if method in self.refuses or token != f"Bearer {TOKEN}":
            return 403, {"message": "Resource not accessible by integration"}
        prefix = f"/repos/{REPOSITORY}/issues/"
        match method, path.removeprefix(prefix).split("/"):
            case "GET", [_, "comments"]:
                size, page = int(query["per_page"][0]), int(query["page"][0])
                found = [{"id": number, "body": text} for number, text in sorted(self.comments.items())]
                return 200, found[size * (page - 1) : size * page]
            case "POST", [_, "comments"]:
                number = max(self.comments, default=0) + 1
                self.comments[number] = body["body"]
                return 201, {"id": number}
            case "PATCH", ["comments", number] if int(number) in self.comments:
                self.comments[int(number)] = body["body"]
                return 200, {"id": int(number)}
        return 404, {"message": "Not Found"}


@contextmanager
def fake_github() -> Iterator[FakeGitHub]:
    """The server, until the end of the block."""
    github = FakeGitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = orjson.loads(self.rfile.read(length)) if length else None
            status, content = github.answer(self.command, self.path, self.headers.get("Authorization", ""), body)
            data = orjson.dumps(content)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    github.address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
