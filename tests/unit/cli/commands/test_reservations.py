"""`berth reservations`: output, and the request to the watcher."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import orjson
import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger, new_ledger
from berth.ledger.nodes.table import Marker, MarkerState
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.reconciler import EXPIRY_SECONDS
from berth_cli.main import main
from berth_cli.server.options import LEDGER_TABLE
from tests.contract.ledger.ledgers import reserve

SLOT = "example.com/slot"
NODE = "node-a"


def berth(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["reservations", *arguments], prog_name="berth")


@pytest.fixture
def ledger(dynamodb: DynamoDBClient) -> Iterator[DynamoDBLedgerTable]:
    """Yield the session's embedded table with a marker; its items are removed and its marker is restored."""
    table = DynamoDBLedgerTable(dynamodb, LEDGER_TABLE)
    before = table.marker()
    if before is None:
        table.put_marker(Marker(MarkerState.READY, 0, time.time(), "ready"), None)
    yield table
    for item in dynamodb.scan(TableName=LEDGER_TABLE)["Items"]:
        dynamodb.delete_item(TableName=LEDGER_TABLE, Key={"pk": item["pk"], "sk": item["sk"]})
    if before is not None:
        table.put_marker(before, None)


def _holds(
    ledger: DynamoDBLedgerTable,
    name: str,
    state: EntryState,
    age: float = 100,
    units: int = 3,
    *,
    adopted: bool = False,
) -> Entry:
    attempt = "" if adopted else f"attempt-{name}"
    entry = Entry(PodKey("ml", name, f"uid-{name}"), state, attempt, {SLOT: units}, time.time() - age)
    found = ledger.node(NODE)
    if found is None:
        ledger.create(new_ledger(NODE, {SLOT: 8}, {}, 1))
        found = ledger.node(NODE)
    assert found is not None
    if state is EntryState.BOUND:
        assert Ledger(ledger).put_bound(found, entry, epoch=1).done
    else:
        ledger.put_open(OpenReservation(entry.pod, NODE, entry.attempt, entry.shares, entry.since))
        assert reserve(Ledger(ledger), NODE, entry).done
    return entry


def test_list_prints_pod_amount_and_reason(ledger: DynamoDBLedgerTable) -> None:
    started = time.time()
    _holds(ledger, "runs", EntryState.BOUND)
    _holds(ledger, "binding", EntryState.RESERVED, age=18, units=1)
    _holds(ledger, "stuck", EntryState.RESERVED, age=EXPIRY_SECONDS + 1, units=1)
    _holds(ledger, "adopted", EntryState.BOUND, units=1, adopted=True)

    done = berth("list", "--ledger-table", LEDGER_TABLE)

    assert done.exit_code == 0, done.output
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["NODE/POOL", "POD", "STATE", "HOLDS", "CLAIMS", "SINCE", "WHY"]
    why = {line.split()[1]: line for line in lines}
    assert why["ml/runs"].endswith("the pod is on this node")
    assert why["ml/adopted"].endswith("the pod is on this node, found there by the watcher")
    assert why["ml/stuck"].endswith("bind did not complete; the watcher reviews it now")
    review = re.search(r"bind has not confirmed it; the watcher reviews it in (\d+) s$", why["ml/binding"])
    assert review is not None
    passed = time.time() - started + 1
    assert EXPIRY_SECONDS - 18 - passed <= int(review[1]) <= EXPIRY_SECONDS - 18
    assert f"3 {SLOT}" in why["ml/runs"]
    assert "\x1b" not in done.stdout


def test_list_prints_the_rebuild_state(ledger: DynamoDBLedgerTable) -> None:
    ledger.create(new_ledger("node-b", {SLOT: 8}, {}, 1))
    ledger.begin_rebuild("node-b", 1)
    assert "node-b: being rebuilt" in berth("list", "--ledger-table", LEDGER_TABLE).stdout


def test_list_prints_reservations_as_json(ledger: DynamoDBLedgerTable) -> None:
    _holds(ledger, "runs", EntryState.BOUND)
    found = orjson.loads(berth("list", "--ledger-table", LEDGER_TABLE, "-o", "json").stdout)
    [reservation] = found["reservations"]
    assert (reservation["pod"], reservation["state"], reservation["holds"]) == ("ml/runs", "bound", {SLOT: 3})
    assert (reservation["diverged"], reservation["claims"]) == (None, None)
    assert found["nodes"] == [{"node": NODE, "capacity": {SLOT: 8}, "available": {SLOT: 5}, "owed": {}}]


def test_repeated_rebuild_command_requests_only_one_rebuild(ledger: DynamoDBLedgerTable) -> None:
    done = berth("rebuild", "--ledger-table", LEDGER_TABLE, "--yes", "--wait", "0")
    assert done.exit_code == 0, done.output
    marker = ledger.marker()
    assert marker is not None
    assert marker.state is MarkerState.REBUILDING

    assert "already" in berth("rebuild", "--ledger-table", LEDGER_TABLE, "--yes", "--wait", "0").stdout
    assert ledger.marker() == marker


def test_rebuild_requires_confirmation(ledger: DynamoDBLedgerTable) -> None:
    before = ledger.marker()
    assert berth("rebuild", "--ledger-table", LEDGER_TABLE).exit_code == 1
    assert ledger.marker() == before


@pytest.mark.long
def test_rebuild_fails_if_not_finished_in_time(ledger: DynamoDBLedgerTable) -> None:
    ledger.put_marker(Marker(MarkerState.REBUILDING, 1, 0, "under-way"), ledger.marker())
    done = berth("rebuild", "--ledger-table", LEDGER_TABLE, "--wait", "0.1")
    assert done.exit_code == 1
    assert "not finished after" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["list"], ["list", "--stack", "a", "--ledger-table", "b"], ["rebuild", "--cache-table", "b"]]
)
def test_commands_exit_with_2_for_incomplete_options(arguments: list[str]) -> None:
    assert berth(*arguments).exit_code == 2


def test_list_reports_missing_table(dynamodb: DynamoDBClient) -> None:
    done = berth("list", "--ledger-table", "elsewhere")
    assert done.exit_code == 1
    assert "does not exist" in done.stderr
