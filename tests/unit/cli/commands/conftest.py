"""Lets the commands of `berth config` wait without delay."""

from __future__ import annotations

import time

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long the commands have waited, in seconds."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found
