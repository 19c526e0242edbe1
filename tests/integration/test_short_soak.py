"""The short form of `make soak` holds, and notices a watcher that lacks a rule, as the run of an hour does."""

from __future__ import annotations

import pytest

from berth.upkeep.reconciler.node_reconciliation import NodeReconciliation
from berth.upkeep.reconciler.published_pods import PublishedPods
from tests.soak.binds import LEADERS, Soak
from tests.soak.checked import CheckedLedgerTable
from tests.unit.ledger.nodes.ledger_tables import ON_DYNAMODB_LOCAL, emulator_client, emulator_url, new_table

BINDS, WORKERS = 200, 16


@pytest.fixture(params=[ON_DYNAMODB_LOCAL])
def soak(request: pytest.FixtureRequest) -> Soak:
    """As `python -m tests.soak --binds 200 --on dynamodb-local` runs it."""
    client = emulator_client(emulator_url(request.param, request), connections=WORKERS + 3)
    return Soak(CheckedLedgerTable(client, new_table(client)), binds=BINDS, workers=WORKERS)


def test_short_soak_holds(soak: Soak) -> None:
    soak.run()
    assert soak.tally.leaders >= LEADERS
    assert soak.tally.outcomes["insufficient"] > 0, "no node was full"


def test_short_soak_notices_absence_as_end(soak: Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NodeReconciliation, "_has_ended_at_api_server", lambda self, node, entry: True)
    with pytest.raises(AssertionError):
        soak.run()


def test_short_soak_notices_annotation_that_moves_devices(soak: Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        PublishedPods,
        "_held",
        lambda self, pod, entry, before, capacity: (pod and self._counting.shares(pod, capacity)) or entry.shares,
    )
    with pytest.raises(AssertionError):
        soak.run()
