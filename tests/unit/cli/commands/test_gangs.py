"""`berth gangs list`: its output and usage errors."""

from __future__ import annotations

import time
from collections.abc import Iterator

import orjson
import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import Domain
from berth_cli.main import main
from berth_cli.server.options import LEDGER_TABLE
from tests.builders.gang_items import claim, gang, intent

TABLE = ("--ledger-table", LEDGER_TABLE)


def berth(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["gangs", *arguments], prog_name="berth")


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[DynamoDBGangTable]:
    """Yield the session's embedded table with one gang; one of its members is in bind."""
    table, now = DynamoDBGangTable(dynamodb, LEDGER_TABLE), time.time()
    table.put_domain(Domain(claim(until=now + 60), 1), table.domain())
    table.put(gang([intent(until=now + 60)], at=now - 5), None)
    yield table
    for item in dynamodb.scan(TableName=LEDGER_TABLE)["Items"]:
        if item["pk"] == {"S": "gang"}:
            dynamodb.delete_item(TableName=LEDGER_TABLE, Key={"pk": item["pk"], "sk": item["sk"]})


def test_list_prints_state_and_missing_members(table: DynamoDBGangTable) -> None:
    done = berth("list", *TABLE)
    assert done.exit_code == 0, done.output
    head, line = done.stdout.splitlines()
    assert head.split() == ["GANG", "STATE", "MEMBERS", "IN", "BIND", "ON", "NODES", "PRIORITY", "AGE", "WAITS", "FOR"]
    assert line.startswith("ml/train  open")
    assert line.endswith("1 of 2 members are in bind")
    assert "only gangs that are or were in bind: give --cache-table too" in done.stderr


def test_list_prints_gangs_as_json(table: DynamoDBGangTable) -> None:
    [found] = orjson.loads(berth("list", *TABLE, "-o", "json").stdout)["gangs"]
    assert (found["gang"], found["state"]) == ("ml/train", "open")


def test_list_prints_gangs_of_a_server(table: DynamoDBGangTable, gateway_port: int) -> None:
    done = berth("list", *server(gateway_port), "-o", "json")
    assert [each["gang"] for each in orjson.loads(done.stdout)["gangs"]] == ["ml/train"]


def server(port: int) -> tuple[str, str]:
    return ("--url", f"http://127.0.0.1:{port}/scheduler")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["list"], id="no source"),
        pytest.param(["list", *TABLE, "--url", "http://127.0.0.1:1/scheduler"], id="two sources"),
        pytest.param(["list", "--stack", "s", "--cache-table", "t"], id="a cache table with a stack"),
    ],
)
def test_list_exits_with_2_for_usage_errors(arguments: list[str]) -> None:
    assert berth(*arguments).exit_code == 2
