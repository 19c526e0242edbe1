"""The committed values, and how far a measured one may be beyond them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
COUNTS, RATIOS = FOLDER / "counts.json", FOLDER / "ratios.json"

Values = Mapping[str, float]

MARGINS: Mapping[str, float] = {
    "imports": 0.02,
    "requests": 0.0,
    # From one minor version of Python to the next these differ by a few per cent.
    "calls": 0.10,
    "allocated": 0.25,
    "bytes": 0.02,
    "units": 0.0,
}
"""By the first part of a count's name."""

RATIO_MARGIN, CHANGED_RATIO_MARGIN = 0.4, 0.8
"""Ratios follow the machine: one commit has 3.03 on one and 3.80 on another, and 3.5 and 5.5 after a change of nodes,
where the call waits for memory. So these find only what makes a call much slower; its counts find the rest."""


@dataclass(frozen=True, slots=True)
class Excess:
    """A measured value that is beyond its limit."""

    name: str
    measured: float
    limit: float

    def __str__(self) -> str:
        return f"{self.name}: {self.measured:g}, and at most {self.limit:g} is committed"


def read(file: Path) -> Values:
    """Values by name."""
    found: dict[str, float] = json.loads(file.read_text())
    return found


def write(file: Path, values: Values) -> None:
    """Replace the file."""
    file.write_text(json.dumps({name: round(value, 2) for name, value in values.items()}, indent=1) + "\n")


def limit(name: str, committed: float) -> float:
    """The largest value that passes."""
    of_ratio = CHANGED_RATIO_MARGIN if ".changed." in name else RATIO_MARGIN
    return committed * (1 + MARGINS.get(name.partition(".")[0], of_ratio))


def excesses(measured: Values, committed: Values) -> list[Excess]:
    """What is beyond its limit. What has no committed value is not judged."""
    limits = {name: limit(name, value) for name, value in committed.items()}
    return [
        Excess(name, value, limits[name]) for name, value in measured.items() if name in limits and value > limits[name]
    ]
