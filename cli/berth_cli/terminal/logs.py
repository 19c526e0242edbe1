"""Logs of long-running commands: readable lines on a terminal, otherwise one JSON object per line.

The functions write JSON lines, as in Lambda. On a terminal the lines are reformatted.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from threading import Thread
from typing import Protocol

import orjson

from berth.runtime.telemetry.telemetry import SERVICE


class Stream(Protocol):
    """The methods of a text file that a log handler uses."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> None: ...
    def isatty(self) -> bool: ...


class JSONFormatter(logging.Formatter):
    """Formats a record with the same fields as log lines of the functions."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "level": record.levelname,
            "message": record.getMessage(),
            "timestamp": datetime.fromtimestamp(record.created, UTC),
            "service": SERVICE,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()


class ReadableStream:
    """Passes text on, with JSON lines converted to readable lines."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        for line in text.splitlines():
            self._stream.write(f"{readable(line)}\n")

    def flush(self) -> None:
        self._stream.flush()


def readable(line: str) -> str:
    """Format a JSON log line as `12:00:01 WARNING filter …`. Return other text unchanged."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return line
    if not isinstance(found, dict) or "level" not in found:
        return line
    text = _call(found) if "outcome" in found else str(found.get("message", ""))
    exception = f"\n{found['exception']}" if "exception" in found else ""
    return f"{_time(str(found.get('timestamp', '')))} {found['level']:<7} {text}{exception}"


def _call(line: Mapping[str, object]) -> str:
    named = " ".join(str(line[key]) for key in ("verb", "outcome", "pod") if line.get(key))
    detail = f": {line['detail']}" if line.get("detail") else ""
    return f"{named}{detail} ({line.get('milliseconds', 0)} ms)"


def _time(timestamp: str) -> str:
    """Return the local time of day; empty without a timestamp."""
    try:
        return datetime.fromisoformat(timestamp.replace(",", ".")).astimezone().strftime("%H:%M:%S")
    except ValueError:
        return ""


def say(message: str, output: Stream) -> None:
    """Print a message of a running server for its operator, such as a changed configuration."""
    if output.isatty():
        output.write(f"{message}\n")
    else:
        record = logging.LogRecord(SERVICE, logging.INFO, "", 0, message, None, None)
        output.write(f"{JSONFormatter().format(record)}\n")
    output.flush()


def _terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def end_without_reader(outputs: Iterable[int] = (1, 2), end: Callable[[], None] = _terminate) -> None:
    """End the process as SIGTERM does if the reader of its output is gone, because the program that started it has
    died. Otherwise each call would fail to write its log line. outputs: file descriptors, of which only pipes are
    watched."""
    pipes = [each for each in outputs if stat.S_ISFIFO(os.fstat(each).st_mode)]
    if not pipes or not hasattr(select, "poll"):  # Windows does not have poll
        return

    def wait() -> None:
        poll = select.poll()
        for pipe in pipes:
            poll.register(pipe, 0)  # poll always reports errors
        poll.poll()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for pipe in pipes:
            os.dup2(nowhere, pipe)
        end()

    Thread(target=wait, name="reader of the output", daemon=True).start()


def log_to(errors: Stream) -> None:
    """Write the logs of commands and libraries to this stream, from level WARNING."""
    handler = logging.StreamHandler(errors)
    readable_format = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
    handler.setFormatter(readable_format if errors.isatty() else JSONFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def make_readable_on_terminal(output: Stream | None = None) -> None:
    """Reformat the functions' logs. Call it after the logger's handlers are set. `output`: their stream, by default
    standard output."""
    stream = sys.stdout if output is None else output
    for handler in logging.getLogger(SERVICE).handlers:
        if stream.isatty() and isinstance(handler, logging.StreamHandler):
            handler.setStream(ReadableStream(stream))
