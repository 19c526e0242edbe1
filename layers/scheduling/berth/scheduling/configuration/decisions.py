"""`decisions` of the configuration: where records of decisions go."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator


class Decisions(StrEnum):
    """OFF: no records. MEMORY: the last ones stay in the process. LOG: a line for one decision of a hundred.
    TABLE: an item of the cache table. FILE: a line of a file of `berth serve`."""

    OFF = "off"
    MEMORY = "memory"
    LOG = "log"
    TABLE = "table"
    FILE = "file"


def _off(value: object) -> object:
    """Some readers of YAML take `off` for false."""
    return Decisions.OFF if value is False else value


DecisionsField = Annotated[Decisions, BeforeValidator(_off)]
