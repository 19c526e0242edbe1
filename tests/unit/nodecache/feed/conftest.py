"""A store, and a leader that has published."""

from __future__ import annotations

import pytest

from tests.unit.nodecache.feed.feeds import Store, Writing, state_of
from tests.unit.nodecache.feed.reading import ONE, THREE, TWO


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def leader(store: Store) -> Writing:
    """Return a leader that has published ONE as a snapshot (version 1), TWO and THREE as log items (versions 2, 3)."""
    leader = Writing(store)
    leader.replace(state_of(ONE), ONE)
    leader.flush(TWO)
    leader.flush(THREE)
    return leader
