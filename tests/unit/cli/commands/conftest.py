"""What the tests of `berth config` share: commands that wait do it in no time."""

from __future__ import annotations

import time

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long the commands have waited, in seconds."""
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found
