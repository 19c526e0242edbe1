"""The console's paths.

| path | response |
|---|---|
| `/` and the page's files | the page, without data; a session is not needed |
| `POST /session` | a session for the token |
| `/api/…` | data as JSON; needs the session |
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import orjson

from berth_cli.console.access import Access, Outcome, Refusal
from berth_cli.server.http.limits import Limits
from berth_cli.server.http.messages import Request, Response

Query = Mapping[str, str]
Document = Callable[[Query], "bytes | Refusal"]
"""Answers a GET of data with JSON or a refusal. Called in a thread of the console."""

PAGE = Path(__file__).parent / "page"
SESSION = "/session"
JSON = "application/json"
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
    """Answers the console's requests. `limits`: the limits for its connections."""

    limits = LIMITS

    def __init__(self, access: Access, documents: Mapping[str, Document]) -> None:
        """Read the page's files. `documents`: the data by path."""
        self._access, self._files, self._documents = access, _page(), documents

    def begin(self, request: Request) -> Response | None:
        """Refuse a request if its header is not valid."""
        refused = self._refusal(request.method, request.path, request.headers)
        return None if refused is None else self._response(request, refused)

    def answer(self, request: Request) -> Response:
        """Return a file of the page, a session or a document."""
        return self._response(request, self._answer(request))

    def _response(self, request: Request, answer: _Answer | Refusal) -> Response:
        if isinstance(answer, Refusal):
            more = {413: {"Connection": "close"}, 405: {"Allow": "GET"}}.get(answer.status, {})
            answer = _Answer(answer.status, JSON, orjson.dumps({"reason": answer.reason}), answer.outcome, more)
        if answer.outcome is not Outcome.OK:
            log.info("%s %s: %s", request.method, request.path, answer.outcome)
        fields = {"Content-Type": answer.content_type, **SECURITY_HEADERS, **answer.more}
        return Response(answer.status, answer.content, fields)

    def _answer(self, request: Request) -> _Answer | Refusal:
        path = request.path
        if path == SESSION:
            key = self._access.new_session(request.headers)
            return key if isinstance(key, Refusal) else _Answer(200, JSON, orjson.dumps({"session": key}))
        if path in self._files:
            return self._files[path]
        asked = _query(request.query)
        if isinstance(asked, Refusal):
            return asked
        try:
            found = self._documents[path](asked)
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


def _query(text: str) -> Query | Refusal:
    """Parse the query, in which each name may occur once."""
    try:
        found = parse_qs(text, max_num_fields=16) if text.isascii() and len(text) <= MAX_QUERY else None
    except ValueError:
        found = None
    if found is None or any(len(values) > 1 for values in found.values()):
        return Refusal(400, Outcome.BAD_QUERY, "the query cannot be read")
    return {name: values[0] for name, values in found.items()}
