"""Authenticates requests by their headers, before the rest is read.

The page is for one user of this machine. Three other parties can reach a loopback address:
- Other users and programs of this machine. They do not know the token.
- Web pages in the same browser. They cannot send the session's key, and their Origin and Sec-Fetch-Site differ.
- Web pages whose name resolves to this machine (DNS rebinding). They send that name as Host.

The key is sent in a header, not in a cookie: a browser sends a cookie of 127.0.0.1 to every port, also to servers of
other users. The key is valid until the process ends, so a program that later listens on the port cannot use it.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

MAX_SESSIONS = 16
_BEARER = "Bearer "


class Outcome(StrEnum):
    """The reasons why a request is answered or refused. The names are written to the console's log."""

    OK = "ok"
    UNKNOWN_HOST = "refused-host"
    FOREIGN_ORIGIN = "refused-origin"
    FOREIGN_SITE = "refused-site"
    NO_SESSION = "refused-session"
    WRONG_TOKEN = "refused-token"  # noqa: S105
    WRONG_METHOD = "refused-method"
    BODY = "refused-body"
    UNKNOWN_PATH = "refused-path"
    BAD_QUERY = "refused-query"
    NOT_READY = "not-ready"
    DEFECT = "defect"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request. reason: the text of the response."""

    status: int
    outcome: Outcome
    reason: str


REMEDY = "open the address that berth console printed last"


class Access:
    """The tokens and sessions of one server. Thread-safe."""

    def __init__(
        self,
        hosts: frozenset[str],
        on_token: Callable[[str], None],
        secret: Callable[[], str] = lambda: secrets.token_urlsafe(32),
    ) -> None:
        """Issue the first token. `hosts`: the valid Host headers, with the port. `on_token`: called with the first
        token, and with the next token whenever a token is used."""
        self._hosts, self._on_token, self._secret = hosts, on_token, secret
        self._lock = Lock()
        self._token = secret()
        self._sessions: deque[str] = deque(maxlen=MAX_SESSIONS)
        on_token(self._token)

    def refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Check a request for any path. headers: with names in lower case."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return Refusal(421, Outcome.UNKNOWN_HOST, f"this server is not {host[:100] or 'without a Host header'}")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            return Refusal(403, Outcome.FOREIGN_ORIGIN, "the request comes from another page")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return Refusal(403, Outcome.FOREIGN_SITE, "the request comes from another page")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return Refusal(413, Outcome.BODY, "the console takes no request bodies")
        return None

    def session_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Check a request for data, which needs a session. The page itself does not need one."""
        key = _credential(headers)
        with self._lock:
            known = list(self._sessions)
        # Each comparison takes the same time, whether the keys are equal or not.
        if any(secrets.compare_digest(key, each.encode()) for each in known):
            return None
        return Refusal(401, Outcome.NO_SESSION, f"this page has no session with this console; {REMEDY}")

    def new_session(self, headers: Mapping[str, str]) -> str | Refusal:
        """Exchange the token for a session key. The token becomes invalid, and a new one is issued."""
        if "origin" not in headers:
            return Refusal(403, Outcome.FOREIGN_ORIGIN, "the request has no Origin")
        given = _credential(headers)
        with self._lock:
            if not secrets.compare_digest(given, self._token.encode()):
                reason = f"this address was used before, or is of another console; {REMEDY}"
                return Refusal(401, Outcome.WRONG_TOKEN, reason)
            self._token = token = self._secret()
            key = self._secret()
            self._sessions.append(key)
        self._on_token(token)
        return key


def _credential(headers: Mapping[str, str]) -> bytes:
    value = headers.get("authorization", "")
    return value.removeprefix(_BEARER).encode("latin-1", "replace") if value.startswith(_BEARER) else b""
