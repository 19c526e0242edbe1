"""The console's paths, as an ASGI application.

| path | response |
|---|---|
| `/` and the page's files | the page; it does not have data or need a session |
| `POST /session` | a session for the token |
| `/api/…` | data as JSON; needs the session |
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import orjson

from berth_cli.console.access import Access, Outcome, Refusal
from berth_cli.server.http.limits import Limits, Receive, Scope, Send

Query = Mapping[str, str]
Document = Callable[[Query], "bytes | Refusal"]
"""Answers a GET of data with JSON or a refusal. Called in a thread of the console."""

PAGE = Path(__file__).parent / "page"
SESSION = "/session"
JSON = "application/json"
THREADS = 4
"""The number of threads for documents that take seconds each: evaluation and explanation."""

QUICK_THREADS = 2
"""The number of threads for other documents, so that a page can open while another page waits for an explanation."""

MAX_QUERY = 2048
LIMITS = Limits(connections=64, head_bytes=16 * 1024, request_bytes=32 * 1024)

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Forbids inline and external content and framing. Scripts cannot convert text to markup.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""The headers of all responses."""

log = logging.getLogger("berth.console")


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content_type: str
    content: bytes
    outcome: Outcome = Outcome.OK
    more: Mapping[str, str] = field(default_factory=dict)


class ConsoleApplication:
    """The console as an ASGI application. `limits`: the limits for its connections."""

    limits = LIMITS

    def __init__(
        self, access: Access, quick: Mapping[str, Document], slow: Mapping[str, Document] | None = None
    ) -> None:
        """`quick`, `slow`: the documents by path."""
        self._access, self._files = access, _page()
        pools = ThreadPoolExecutor(QUICK_THREADS, "console-quick"), ThreadPoolExecutor(THREADS, "console")
        self._documents = {
            path: (document, pool)
            for documents, pool in zip((quick, slow or {}), pools, strict=True)
            for path, document in documents.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method, path = scope["method"], scope["path"]
        answer = await self._answer(method, path, scope["query_string"], headers)
        if isinstance(answer, Refusal):
            more = {413: {"Connection": "close"}, 405: {"Allow": "GET"}}.get(answer.status, {})
            answer = _Answer(answer.status, JSON, orjson.dumps({"reason": answer.reason}), answer.outcome, more)
        if answer.outcome is not Outcome.OK:
            log.info("%s %s: %s", method, path, answer.outcome)
        fields = {
            "Content-Type": answer.content_type,
            "Content-Length": str(len(answer.content)),
            **SECURITY_HEADERS,
            **answer.more,
        }
        found = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": found})
        await send({"type": "http.response.body", "body": answer.content})

    async def _answer(self, method: str, path: str, query: bytes, headers: Mapping[str, str]) -> _Answer | Refusal:
        refusal = self._refusal(method, path, headers)
        if refusal is not None:
            return refusal
        if path == SESSION:
            key = self._access.new_session(headers)
            return key if isinstance(key, Refusal) else _Answer(200, JSON, orjson.dumps({"session": key}))
        if path in self._files:
            return self._files[path]
        asked = _query(query)
        if isinstance(asked, Refusal):
            return asked
        document, pool = self._documents[path]
        try:
            found = await asyncio.get_running_loop().run_in_executor(pool, document, asked)
        except Exception as error:
            # A defect must not end the connection: the page shows the error and requests the data again.
            log.exception("GET %s", path)
            return Refusal(500, Outcome.DEFECT, f"the console cannot answer: {type(error).__name__}")
        return found if isinstance(found, Refusal) else _Answer(200, JSON, found)

    def _refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        refusal = self._access.refusal(headers)
        if refusal is not None:
            return refusal
        if path != SESSION and path not in self._files and path not in self._documents:
            return Refusal(404, Outcome.UNKNOWN_PATH, "there is no such path; the page is at /")
        if method != ("POST" if path == SESSION else "GET"):
            return Refusal(405, Outcome.WRONG_METHOD, "the console only reads")
        return self._access.session_refusal(headers) if path in self._documents else None


def _page() -> Mapping[str, _Answer]:
    """Read the page's files, by their path in URLs. Other paths are never looked up in the file system."""
    found = {
        f"/{path.relative_to(PAGE).as_posix()}": _Answer(200, CONTENT_TYPES[path.suffix], path.read_bytes())
        for path in sorted(PAGE.rglob("*"))
        if path.suffix in CONTENT_TYPES
    }
    return found | {"/": found["/index.html"]}


def _query(text: bytes) -> Query | Refusal:
    """Parse the query, in which each name may occur once."""
    try:
        found = parse_qs(text.decode("ascii"), max_num_fields=16) if len(text) <= MAX_QUERY else None
    except ValueError:
        found = None
    if found is None or any(len(values) > 1 for values in found.values()):
        return Refusal(400, Outcome.BAD_QUERY, "the query cannot be read")
    return {name: values[0] for name, values in found.items()}
