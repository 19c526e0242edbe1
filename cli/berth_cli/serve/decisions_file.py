"""The file of `decisions: file`: a record a line, as JSON."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson

from berth.decisions.background import BackgroundRecorder
from berth.extender.decision import DecisionRecorder

MOST_BYTES = 100_000_000
"""Then the file gets the suffix .1, in place of the one that had it."""

MOST_A_SECOND = 200


class DecisionsFile:
    """Appended to by one thread. Every record is there for readers at once."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        """Raises OSError if the file cannot be written."""
        self._path, self._most_bytes = path, most_bytes
        path.open("ab").close()

    def put(self, document: Mapping[str, object]) -> None:
        """Append a record. Raises OSError."""
        line = orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
        size = self._path.stat().st_size if self._path.exists() else 0
        if size and size + len(line) > self._most_bytes:
            os.replace(self._path, f"{self._path}.1")
        with self._path.open("ab") as file:
            file.write(line)


@contextmanager
def decisions_file(path: Path, warn: Callable[[str], None]) -> Iterator[DecisionRecorder]:
    """A recorder for this file. What waits is written when the block ends. Raises OSError."""
    recorder = BackgroundRecorder(DecisionsFile(path).put, time.time, warn, MOST_A_SECOND)
    try:
        yield recorder
    finally:
        recorder.close()
