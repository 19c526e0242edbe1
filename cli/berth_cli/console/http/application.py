"""The console's paths, as an ASGI application.

| path | answer |
|---|---|
| `/` and the page's files | the page; it has no data, and needs no session |
| `POST /session` | a session for the token |
| `POST /session/challenge`, `POST /session/return` | a session for a browser that had one before a restart |
| `/api/…` | data as JSON; needs the session |
| `/api/changes?since=N` | the changes after state N, as server-sent events; needs the session |
| other streams | likewise |
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import parse_qs

import orjson

from berth_cli.console.documents.feed import Feed
from berth_cli.console.http.access import Access, Outcome, Refusal
from berth_cli.console.http.assets import SECURITY_HEADERS, read_assets
from berth_cli.console.http.stream import events
from berth_cli.http_server.asgi import Receive, Scope, Send
from berth_cli.http_server.limits import Limits

Query = Mapping[str, str]
IsOver = Callable[[], bool]
Stream = Callable[[int, IsOver], AsyncIterator[bytes]]
"""Server-sent events after a number, until it is over."""

Document = Callable[[Query], "bytes | Refusal"]
"""Answers a GET of data: JSON, or why not. Called in a thread of the console's own."""

SESSION = "/session"
CHALLENGE = "/session/challenge"
RETURN = "/session/return"
CHANGES = "/api/changes"
JSON = "application/json"
THREADS = 4
"""For documents: comparing, replaying and planning take some seconds each."""

STATE_THREADS = 2
"""For nodes and pods alone, so that a page that opens does not wait for what others compare."""

MOST_STREAMS = 16
MOST_QUERY = 2048
LIMITS = Limits(connections=64, head_bytes=16 * 1024, request_bytes=32 * 1024)

log = logging.getLogger("berth.console")


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content_type: str
    content: bytes
    outcome: Outcome = Outcome.OK
    more: Mapping[str, str] | None = None


class ConsoleApplication:
    """`limits`: of its connections."""

    limits = LIMITS

    def __init__(
        self,
        access: Access,
        feed: Feed,
        wall: Callable[[], float],
        documents: Mapping[str, Document] | None = None,
        streams: Mapping[str, Stream] | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """`wall`: seconds since the epoch. `documents`, `streams`: by path, beside those of the feed. `is_stopping`:
        whether streams have to end."""
        self._access, self._feed = access, feed
        self.is_stopping = is_stopping
        self._assets = read_assets()
        states = ThreadPoolExecutor(STATE_THREADS, thread_name_prefix="console-state")
        others = ThreadPoolExecutor(THREADS, thread_name_prefix="console")
        self._documents: Mapping[str, tuple[Document, ThreadPoolExecutor]] = {
            "/api/nodes": (lambda _: self._state(feed.nodes()), states),
            "/api/pods": (lambda _: self._state(feed.pods()), states),
            **{path: (document, others) for path, document in (documents or {}).items()},
        }
        self._stream_by_path: Mapping[str, Stream] = {
            CHANGES: lambda since, is_over: events(feed, since, wall, is_over),
            **(streams or {}),
        }
        self._streams = 0
        self._secrets: Mapping[str, tuple[str, Callable[[Mapping[str, str]], str | Refusal]]] = {
            SESSION: ("session", access.new_session),
            CHALLENGE: ("challenge", access.challenge),
            RETURN: ("session", access.returned_session),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method, path = scope["method"], scope["path"]
        refusal = self._refusal(method, path, headers)
        if refusal is None and path in self._stream_by_path:
            refusal = await self._stream(self._stream_by_path[path], scope, receive, send)
            if refusal is None:
                return
        answer = _refused(refusal) if refusal else await self._answer(method, path, scope, headers)
        if answer.outcome is not Outcome.OK:
            log.info("%s %s: %s", method, path, answer.outcome)
        await _send(send, answer)

    def _refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        refusal = self._access.refusal(headers)
        if refusal is not None:
            return refusal
        is_data = path in self._documents or path in self._stream_by_path
        if path not in self._secrets and path not in self._assets and not is_data:
            return Refusal(404, Outcome.UNKNOWN_PATH, "there is no such path; the page is at /")
        if method != ("POST" if path in self._secrets else "GET"):
            return Refusal(405, Outcome.WRONG_METHOD, "the console only reads")
        return self._access.session_refusal(headers) if is_data else None

    async def _answer(self, method: str, path: str, scope: Scope, headers: Mapping[str, str]) -> _Answer:
        if path in self._secrets:
            name, give = self._secrets[path]
            secret = give(headers)
            return _refused(secret) if isinstance(secret, Refusal) else _Answer(200, JSON, orjson.dumps({name: secret}))
        asset = self._assets.get(path)
        if asset is not None:
            return _Answer(200, asset.content_type, asset.content)
        query = _query(scope)
        if isinstance(query, Refusal):
            return _refused(query)
        document, threads = self._documents[path]
        found = await asyncio.get_running_loop().run_in_executor(threads, document, query)
        return _refused(found) if isinstance(found, Refusal) else _Answer(200, JSON, found)

    def _state(self, document: bytes | None) -> bytes | Refusal:
        return document or Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)

    async def _stream(self, stream: Stream, scope: Scope, receive: Receive, send: Send) -> Refusal | None:
        query = _query(scope)
        if isinstance(query, Refusal):
            return query
        since = query.get("since", "")
        if not since.isdecimal() or len(since) > 15:
            return Refusal(400, Outcome.BAD_QUERY, "since is not the number of a state")
        if self._streams >= MOST_STREAMS:
            return Refusal(503, Outcome.TOO_MANY_STREAMS, f"{MOST_STREAMS} pages follow this console; close some")
        self._streams += 1
        gone = asyncio.ensure_future(_reader_gone(receive))
        try:
            await send(_start(200, "text/event-stream", {}))
            async for event in stream(int(since), lambda: gone.done() or self.is_stopping()):
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            self._streams -= 1
        return None


async def _reader_gone(receive: Receive) -> None:
    """Returns when the reader has closed the connection: sending to it then does nothing, without an error."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _query(scope: Scope) -> Query | Refusal:
    """Each name once."""
    text = scope["query_string"]
    try:
        found = parse_qs(text.decode("ascii"), max_num_fields=16) if len(text) <= MOST_QUERY else None
    except ValueError:
        found = None
    if found is None or any(len(values) > 1 for values in found.values()):
        return Refusal(400, Outcome.BAD_QUERY, "the query cannot be read")
    return {name: values[0] for name, values in found.items()}


def _refused(refusal: Refusal) -> _Answer:
    more = {413: {"Connection": "close"}, 405: {"Allow": "GET"}}.get(refusal.status)
    return _Answer(refusal.status, JSON, orjson.dumps({"reason": refusal.reason}), refusal.outcome, more)


def _start(status: int, content_type: str, more: Mapping[str, str]) -> dict[str, object]:
    fields = {"Content-Type": content_type, **SECURITY_HEADERS, **more}
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
    return {"type": "http.response.start", "status": status, "headers": headers}


async def _send(send: Send, answer: _Answer) -> None:
    length = {"Content-Length": str(len(answer.content))}
    await send(_start(answer.status, answer.content_type, {**length, **(answer.more or {})}))
    await send({"type": "http.response.body", "body": answer.content})
