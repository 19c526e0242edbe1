"""The allow-list in a file, for `berth serve`."""

from __future__ import annotations

from pathlib import Path

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.ports import AllowListRecord, RecordUnavailable


class AllowListFile(AllowListRecord):
    """Read anew each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> AllowList:
        try:
            return parse(self._path.read_text())
        except OSError as error:
            raise RecordUnavailable(f"the allow-list {self._path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise RecordUnavailable(f"the allow-list {self._path} is not text") from error
