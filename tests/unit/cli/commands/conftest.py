"""Lets the commands of `berth config` wait without delay."""

from __future__ import annotations

import time

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace time.sleep; return the pauses that the commands requested, in seconds."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found
