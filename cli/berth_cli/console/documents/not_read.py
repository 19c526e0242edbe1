"""The value in place of what a source cannot read now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotRead:
    """reason: why, for people."""

    reason: str
