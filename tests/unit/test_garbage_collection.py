"""Garbage collection while many long-lived objects are created."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from berth.garbage_collection import collection_paused, start_without_collection


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Enable the collector after each test, and unfreeze the objects that the test froze."""
    frozen = gc.get_freeze_count()
    yield
    gc.enable()
    if not frozen:
        gc.unfreeze()


def test_garbage_collection_pauses_until_the_block_ends() -> None:
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_garbage_collection_resumes_after_an_exception() -> None:
    with pytest.raises(ValueError, match="wrong"), collection_paused():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_garbage_collection_stays_paused_in_an_outer_pause() -> None:
    with collection_paused():
        with collection_paused():
            pass
        assert not gc.isenabled()


def test_objects_created_at_start_are_excluded_from_later_collections() -> None:
    with start_without_collection():
        assert not gc.isenabled()
        made = [[number] for number in range(100)]
    assert gc.isenabled()
    assert not any(each is made for each in gc.get_objects())
