"""The file of `decisions: file`, with one JSON record per line. A scheduler's calls contain few different lists of
nodes, so each list is written once, on its own line, and records refer to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from berth.decisions.document import NODE_NAMES
from berth.decisions.recorders import BackgroundRecorder

MAX_BYTES = 100_000_000
"""The size at which the file gets the suffix .1 and replaces the previous file with that suffix."""

MAX_PER_SECOND = 200

MAX_LISTS = 16
"""The maximum number of node lists in memory. A record with an older list writes the list again."""

NODE_LIST = "nodeList"
"""The key of a list's number, in the list's line and in records."""


class DecisionsFile:
    """Appends records, in one thread. Readers see each record at once."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        """Open the file. Raises OSError if it cannot be written."""
        self._path, self._most_bytes = path, max_bytes
        self._lists: dict[tuple[str, ...], int] = {}
        self._last_list = 0
        path.open("ab").close()

    def put(self, document: Mapping[str, object]) -> None:
        """Append a record. Raises OSError."""
        lines = self._lines(document)
        size = self._path.stat().st_size if self._path.exists() else 0
        if size and size + len(lines) > self._most_bytes:
            os.replace(self._path, f"{self._path}.1")
            self._lists.clear()
            lines = self._lines(document)
        with self._path.open("ab") as file:
            file.write(lines)

    def _lines(self, document: Mapping[str, object]) -> bytes:
        """Return the record, preceded by the list of its nodes if the file does not contain it yet."""
        record = dict(document)
        names = record.pop(NODE_NAMES, None)
        if not isinstance(names, list):
            return _line(record)
        key = tuple(names)
        is_new = key not in self._lists
        if is_new:
            if len(self._lists) == MAX_LISTS:
                del self._lists[next(iter(self._lists))]
            self._last_list += 1
            self._lists[key] = self._last_list
        number = self._lists[key]
        new = _line({NODE_LIST: number, NODE_NAMES: names}) if is_new else b""
        return new + _line({**record, NODE_LIST: number})


def _line(content: Mapping[str, object]) -> bytes:
    return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)


def decisions_file(path: Path, warn: Callable[[str], None]) -> BackgroundRecorder:
    """Open a recorder for this file. Close it to write the waiting records. Raises OSError."""
    return BackgroundRecorder(DecisionsFile(path).put, time.time, warn, MAX_PER_SECOND, every_node=True)
