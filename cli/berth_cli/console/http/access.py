"""Who may ask: judged by the header alone, before anything else is read.

The page is for one person on this machine. Three kinds of others can reach a loopback address:
- Other users and programs of this machine. They do not know the token.
- Web pages in the same browser. They cannot send the session's key, and their Origin and Sec-Fetch-Site differ.
- Web pages whose name resolves to this machine (DNS rebinding). They send that name as Host.

The key goes in a header, not in a cookie: a browser sends a cookie of 127.0.0.1 to every port, and so to servers of
other users. It ends with the process: who answers on the port afterwards learns a key that opens nothing. A browser
that had a session gets another one by a proof, see known_browsers.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

from berth_cli.console.http.known_browsers import KnownBrowsers, is_key, proves

MOST_SESSIONS = 16
BROWSER_KEY = "berth-browser-key"
_BEARER = "Bearer "
_PROOF = "Proof "


class Outcome(StrEnum):
    """Why a request is answered or not. The names are in the console's log."""

    OK = "ok"
    UNKNOWN_HOST = "refused-host"
    FOREIGN_ORIGIN = "refused-origin"
    FOREIGN_SITE = "refused-site"
    NO_SESSION = "refused-session"
    WRONG_TOKEN = "refused-token"  # noqa: S105
    BAD_KEY = "refused-key"
    OLD_CHALLENGE = "refused-challenge"
    WRONG_PROOF = "refused-proof"
    WRONG_METHOD = "refused-method"
    BODY = "refused-body"
    UNKNOWN_PATH = "refused-path"
    BAD_QUERY = "refused-query"
    TOO_MANY_STREAMS = "refused-streams"
    NOT_READY = "not-ready"


@dataclass(frozen=True, slots=True)
class Refusal:
    """outcome, and what the answer says."""

    status: int
    outcome: Outcome
    reason: str


RESTART = "open the address that berth console printed last"
NO_ORIGIN = Refusal(403, Outcome.FOREIGN_ORIGIN, "the request has no Origin")


class Access:
    """Tokens and sessions of one server. Safe to share between threads."""

    def __init__(
        self,
        hosts: frozenset[str],
        on_token: Callable[[str], None] = lambda _: None,
        secret: Callable[[], str] = lambda: secrets.token_urlsafe(32),
        browsers: KnownBrowsers | None = None,
    ) -> None:
        """`hosts`: what browsers may send as Host, with the port. `on_token`: called with each token that is to be
        given out: the first one, and another one whenever one was used. `browsers`: None knows none at first."""
        self._hosts, self._on_token, self._secret = hosts, on_token, secret
        self._browsers = browsers or KnownBrowsers(None, lambda: 0.0)
        self._lock = Lock()
        self._token = secret()
        self._challenge = ""
        self._sessions: OrderedDict[str, None] = OrderedDict()
        on_token(self._token)

    def refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """For every request, whatever it asks for. headers: with names in lower case."""
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
        """For what is not part of the page itself."""
        key = _credential(headers)
        with self._lock:
            known = list(self._sessions)
        # Each comparison takes the same time, whatever is equal.
        if any(secrets.compare_digest(key, each.encode()) for each in known):
            return None
        return Refusal(401, Outcome.NO_SESSION, f"this page has no session with this console; {RESTART}")

    def new_session(self, headers: Mapping[str, str]) -> str | Refusal:
        """The key of a session for the token. The token is used up, and another one is given out."""
        if "origin" not in headers:
            return NO_ORIGIN
        given, browser = _credential(headers), headers.get(BROWSER_KEY)
        if browser is not None and not is_key(browser):
            return Refusal(400, Outcome.BAD_KEY, "the browser's key cannot be read")
        with self._lock:
            if not secrets.compare_digest(given, self._token.encode()):
                return Refusal(
                    401, Outcome.WRONG_TOKEN, f"this address was used before, or is of another console; {RESTART}"
                )
            self._token = token = self._secret()
            key = self._opened()
            if browser is not None:
                self._browsers.add(browser)
        self._on_token(token)
        return key

    def challenge(self, headers: Mapping[str, str]) -> str | Refusal:
        """What a browser that had a session has to sign: the same until one has done it."""
        if "origin" not in headers:
            return NO_ORIGIN
        with self._lock:
            self._challenge = self._challenge or self._secret()
            return self._challenge

    def returned_session(self, headers: Mapping[str, str]) -> str | Refusal:
        """The key of a session for a known browser's proof: its key, the challenge and the signature, with points."""
        if "origin" not in headers:
            return NO_ORIGIN
        browser, challenge, signature = _proof(headers)
        with self._lock:
            if not self._challenge or not secrets.compare_digest(challenge.encode(), self._challenge.encode()):
                return Refusal(409, Outcome.OLD_CHALLENGE, "another page has used this challenge; ask for a new one")
            # The page's own: refusal has compared it with Host.
            if not self._browsers.has(browser) or not proves(browser, signature, headers["origin"], challenge):
                return Refusal(401, Outcome.WRONG_PROOF, f"this console does not know this browser; {RESTART}")
            self._challenge = ""
            return self._opened()

    def _opened(self) -> str:
        key = self._secret()
        self._sessions[key] = None
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return key


def _credential(headers: Mapping[str, str]) -> bytes:
    value = headers.get("authorization", "")
    return value.removeprefix(_BEARER).encode("latin-1", "replace") if value.startswith(_BEARER) else b""


def _proof(headers: Mapping[str, str]) -> tuple[str, str, str]:
    """Three empty texts where there is none."""
    value = headers.get("authorization", "")
    parts = value.removeprefix(_PROOF).split(".") if value.startswith(_PROOF) else []
    browser, challenge, signature = parts if len(parts) == 3 else ("", "", "")
    return browser, challenge, signature
