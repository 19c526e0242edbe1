"""`python -m tests.fakes.import_recorder HANDLER...`: calls during an import whose results differ each time.

Records calls of clocks, randomness, identities and the network, with the calling package. All calls from Python are
seen, under whatever name the function was imported.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from types import FrameType

CLOCKS = {"time", "monotonic", "perf_counter", "clock_gettime", "localtime", "gmtime", "ctime", "asctime", "strftime"}
WATCHED = {
    "time": CLOCKS | {f"{name}_ns" for name in CLOCKS},
    "posix": {"urandom", "getrandom", "getpid", "uname", "times"},
    "_uuid": {"generate_time_safe"},
    "_ssl": {"RAND_bytes"},
    "_socket": {"getaddrinfo", "gethostbyname", "gethostname"},
}
METHODS = {
    "datetime": {"now", "utcnow", "today"},
    "Random": {"seed", "random", "getrandbits"},
    "socket": {"connect", "connect_ex", "send", "sendall", "sendto"},
}


def main(handlers: list[str]) -> None:
    """Print a line for each call: the handler, the calling package and the function. Modules that two handlers import
    count for the first handler."""
    for handler in handlers:
        for asked in sorted(_asked_by(handler)):
            print(handler, asked)


def _asked_by(handler: str) -> set[str]:
    asked: set[str] = set()

    def seen(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call":
            asked.update(f"{_package(frame)} {name}" for name in _watched(called))

    spec = importlib.util.spec_from_file_location("app", handler)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.setprofile(seen)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.setprofile(None)
    return asked


def _watched(called: object) -> Iterator[str]:
    name = getattr(called, "__name__", "")
    owner = getattr(called, "__self__", None)
    if name in WATCHED.get(getattr(called, "__module__", None) or "", set()):
        yield f"{getattr(called, '__module__', '')}.{name}"
    for each in (owner if isinstance(owner, type) else type(owner)).__mro__:
        if name in METHODS.get(each.__name__, set()):
            yield f"{each.__name__}.{name}"
            return


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


if __name__ == "__main__":
    main(sys.argv[1:])
