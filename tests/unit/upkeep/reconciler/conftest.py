"""A node whose ledger exists."""

from __future__ import annotations

import pytest

from tests.unit.upkeep.reconciler.reconciler_harness import ReconcilerHarness


@pytest.fixture
def harness() -> ReconcilerHarness:
    """Return a harness with a node of 8 slots and its ledger."""
    harness = ReconcilerHarness()
    harness.node(8)
    harness.publish()
    harness.run(harness.lead(), 1)
    harness.happened()
    return harness
