"""Browsers that had a session. They get another one after the console was started again, without a new address.

A browser makes a key pair, and keeps the private part where no script can read it. The console knows the public part.
So whoever reads the file of known browsers, or answers on the console's port while it is down, cannot pass for one.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

MOST_BROWSERS = 16
KNOWN_SECONDS = 7 * 24 * 3600.0
"""From the opening of an address. Coming back makes it no longer."""

MOST_BYTES = 64 * 1024
_FILE, _FOLDER = 0o600, 0o700
_COORDINATE = 32
_KEY = re.compile(r"[A-Za-z0-9_-]{87}")
_SIGNATURE = re.compile(r"[A-Za-z0-9_-]{86}")

log = logging.getLogger("berth.console")


class KnownBrowsers:
    """Of the console on one port, and so of one process at a time. For one thread."""

    def __init__(self, path: Path | None, wall: Callable[[], float]) -> None:
        """`path`: of their file; None keeps them in memory. A file that cannot be used is named in the log, and no
        reason to stop. `wall`: seconds since the epoch."""
        self._path, self._wall = path, wall
        self._opened_at: dict[str, float] = {} if path is None else _read(path)

    def add(self, key: str) -> None:
        """A browser that has opened an address. key: is_key."""
        self._opened_at.pop(key, None)
        self._opened_at[key] = self._wall()
        recent = [(each, at) for each, at in self._opened_at.items() if self._is_recent(at)]
        self._opened_at = dict(recent[-MOST_BROWSERS:])
        if self._path is not None:
            _write(self._path, self._opened_at)

    def has(self, key: str) -> bool:
        """Whether it may come back."""
        opened_at = self._opened_at.get(key)
        return opened_at is not None and self._is_recent(opened_at)

    def _is_recent(self, opened_at: float) -> bool:
        # A clock that was put back must not make it longer.
        return 0 <= self._wall() - opened_at < KNOWN_SECONDS


def file_of(port: int, environment: Mapping[str, str]) -> Path | None:
    """Where the browsers of a port are kept, by the rules of XDG. None where there is no home."""
    state = environment.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):
        folder = Path(state)
    elif os.path.isabs(environment.get("HOME", "")):
        folder = Path(environment["HOME"], ".local", "state")
    else:
        return None
    return folder / "berth" / f"console-browsers-{port}.json"


def is_key(key: str) -> bool:
    """Whether it is the public part of a key pair of the kind that the page makes."""
    return _KEY.fullmatch(key) is not None and _public(key) is not None


def proves(key: str, signature: str, origin: str, challenge: str) -> bool:
    """Whether the browser with this key has signed the challenge, for the page of this origin."""
    public = _public(key) if _KEY.fullmatch(key) else None
    if public is None or not _SIGNATURE.fullmatch(signature):
        return False
    numbers = _decoded(signature)
    r, s = int.from_bytes(numbers[:_COORDINATE]), int.from_bytes(numbers[_COORDINATE:])
    text = f"berth console session\n{origin}\n{challenge}"
    try:
        public.verify(encode_dss_signature(r, s), text.encode(), ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def _public(key: str) -> ec.EllipticCurvePublicKey | None:
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(key))
    except ValueError:
        return None


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _read(path: Path) -> dict[str, float]:
    try:
        with open(path, "rb", opener=_opened_itself) as file:
            found = os.fstat(file.fileno())
            is_private = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
            content = file.read(MOST_BYTES) if is_private else None
    except FileNotFoundError:
        return {}
    except OSError as error:
        log.warning("%s cannot be read (%s): browsers need a new address", path, error.strerror)
        return {}
    if content is None:
        log.warning("%s is not for its owner alone (mode 600): browsers need a new address", path)
        return {}
    try:
        browsers = orjson.loads(content)["browsers"]
        return {each["key"]: float(each["openedAt"]) for each in browsers if is_key(each["key"])}
    except (ValueError, TypeError, KeyError):
        log.warning("%s cannot be understood: browsers need a new address", path)
        return {}


def _opened_itself(path: str, flags: int) -> int:
    """Not what a link leads to, and without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, _FILE)


def _write(path: Path, opened_at: Mapping[str, float]) -> None:
    content = orjson.dumps({"browsers": [{"key": key, "openedAt": at} for key, at in opened_at.items()]})
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(_FOLDER, parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        with open(beside, "xb", opener=_opened_itself) as file:
            file.write(content)
        os.replace(beside, path)
    except OSError as error:
        log.warning("%s cannot be written (%s): after a restart browsers need a new address", path, error.strerror)
