"""The parts of a load are all of it: what one function takes is in one part."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import pytest

from tests.bench import load_parts
from tests.bench.cold_load import kept
from tests.bench.functions import Contents, write_contents

TICK = 1.0


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return write_contents(tmp_path / "contents", list(kept(nodes=4)), changed_pods=50)


def test_parts_add_up_to_the_load(contents: Contents, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ticks when it is read: at the start and the end of each function."""
    clock = count(0.0, TICK)
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))

    found = load_parts.measured(contents)

    assert {part for part, seconds in found.items() if seconds <= 0} == set()
    assert sum(found.values()) == next(clock) - TICK
