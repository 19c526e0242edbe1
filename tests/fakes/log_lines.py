"""Reads the lines that functions log."""

from __future__ import annotations

from io import StringIO
from typing import Any

import orjson


class LogLines:
    """The lines that functions have logged since the test began."""

    def __init__(self) -> None:
        self.stream = StringIO()

    def all(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.stream.getvalue().splitlines()]
