"""Durations as Kubernetes' configuration files write them, which is as Go does: `5s`, `1m30s`, `500ms`."""

from __future__ import annotations

import re

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float | None:
    """The seconds of a duration; None for what is none. A zero alone needs no unit."""
    if text == "0":
        return 0.0
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
