"""`berth config apply`: change the configuration of a running stack."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import Marker, MarkerState
from berth_cli.main import main
from tests.builders.tables import create_cache_table, create_ledger_table

pytestmark = pytest.mark.usefixtures("pauses")

COUNTS = "managedResources: [{name: example.com/slot}]\n"
COUNTS_NOTHING = "profile: full\n"
OWN_CACHE, OWN_LEDGER = "apply-cache", "apply-ledger"


@pytest.fixture
def counting(dynamodb: DynamoDBClient) -> Iterator[DynamoDBConfigurationStore]:
    """A cache table and a ledger that counts; no document is applied yet."""
    create_cache_table(dynamodb, OWN_CACHE)
    create_ledger_table(dynamodb, OWN_LEDGER)
    DynamoDBLedgerTable(dynamodb, OWN_LEDGER).put_marker(Marker(MarkerState.READY, 1, 0.0, "nonce"), None)
    yield DynamoDBConfigurationStore(dynamodb, OWN_CACHE, OWN_LEDGER)
    for name in (OWN_CACHE, OWN_LEDGER):
        dynamodb.delete_table(TableName=name)


def apply_to_both(document: str, *options: str) -> Result:
    tables = ("--cache-table", OWN_CACHE, "--ledger-table", OWN_LEDGER)
    return CliRunner().invoke(main, ["config", "apply", "-", *tables, *options], input=document)


def test_apply_refuses_to_stop_counting_by_accident(counting: DynamoDBConfigurationStore) -> None:
    first = apply_to_both(COUNTS)
    assert first.exit_code == 0
    assert first.stdout.startswith(f"standard input is applied to {OWN_CACHE}: profile label-priority, hash ")
    in_force = counting.read()
    done = apply_to_both(COUNTS_NOTHING)
    assert done.exit_code == 1
    assert "the document counts nothing, but the ledger counts resources" in done.stderr
    assert counting.read() == in_force


def test_counting_stays_stopped_until_a_document_counts_again(counting: DynamoDBConfigurationStore) -> None:
    assert apply_to_both(COUNTS_NOTHING, "--stop-counting").exit_code == 0
    assert counting.counting_is_stopped()
    assert apply_to_both("profile: label-priority\n").exit_code == 0
    assert counting.counting_is_stopped()
    assert apply_to_both(COUNTS).exit_code == 0
    assert not counting.counting_is_stopped()
    assert apply_to_both(COUNTS_NOTHING).exit_code == 1


def test_apply_requests_a_rebuild_if_counting_was_stopped(
    counting: DynamoDBConfigurationStore, dynamodb: DynamoDBClient
) -> None:
    ledger = DynamoDBLedgerTable(dynamodb, OWN_LEDGER)
    apply_to_both(COUNTS)
    before = ledger.marker()
    assert before is not None
    assert before.state is MarkerState.READY
    apply_to_both(COUNTS_NOTHING, "--stop-counting")
    assert ledger.marker() == before
    assert "requested a rebuild" in apply_to_both(COUNTS).stdout
    after = ledger.marker()
    assert after is not None
    assert (after.state, after.epoch) == (MarkerState.REBUILDING, before.epoch)


def test_apply_rejects_stop_counting_for_a_document_that_counts(counting: DynamoDBConfigurationStore) -> None:
    done = apply_to_both(COUNTS, "--stop-counting")
    assert done.exit_code == 1
    assert "standard input counts resources" in done.stderr
    assert counting.read() is None
