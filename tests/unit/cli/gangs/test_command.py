"""`berth gangs`: what it prints of the ledger's table, and what it asks before it writes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.gangs.dynamodb_table import DynamoDBGangTable
from berth.gangs.item import Domain, GangState
from berth_cli.main import main
from berth_cli.serve.stores import LEDGER_TABLE
from tests.builders.gang_items import TRAIN, claim, gang, intent
from tests.builders.gangs import member_object
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import node_with
from tests.fakes.api_server import verified_kubernetes

TABLE = ("--table", LEDGER_TABLE)


def berth(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["gangs", *arguments], prog_name="berth", input=typed)


@pytest.fixture
def table(dynamodb: DynamoDBClient) -> Iterator[DynamoDBGangTable]:
    """The session's embedded table, with one gang of which one member is in bind."""
    table, now = DynamoDBGangTable(dynamodb, LEDGER_TABLE), time.time()
    table.put_domain(Domain(claim(until=now + 60), 1), table.domain())
    table.put(gang([intent(until=now + 60)], at=now - 5), None)
    yield table
    for item in dynamodb.scan(TableName=LEDGER_TABLE)["Items"]:
        if item["pk"] == {"S": "gang"}:
            dynamodb.delete_item(TableName=LEDGER_TABLE, Key={"pk": item["pk"], "sk": item["sk"]})


def test_list_prints_state_and_what_is_missing(table: DynamoDBGangTable) -> None:
    done = berth("list", *TABLE)
    assert done.exit_code == 0, done.output
    head, line = done.stdout.splitlines()
    assert head.split() == ["GANG", "STATE", "MEMBERS", "IN", "BIND", "ON", "NODES", "PRIORITY", "AGE", "WAITS", "FOR"]
    assert line.startswith("ml/train  open")
    assert line.endswith("1 of 2 members are in bind")
    assert "only gangs that are or were in bind: give --cache-table too" in done.stderr


def test_describe_prints_json_of_one_gang(table: DynamoDBGangTable) -> None:
    found = orjson.loads(berth("describe", "ml/train", *TABLE, "-o", "json").stdout)
    assert (found["gang"], found["state"]) == ("ml/train", "open")
    assert found["places"] == [{"pod": "ml/train-0", "state": "in-bind", "node": "n1"}]


def test_describe_fails_for_a_gang_that_nobody_knows(table: DynamoDBGangTable) -> None:
    done = berth("describe", "ml/other", *TABLE)
    assert (done.exit_code, "no gang ml/other" in done.stderr) == (1, True)


def test_release_asks_and_ends_the_round(table: DynamoDBGangTable) -> None:
    done = berth("release", "ml/train", *TABLE, typed="y\n")
    assert done.exit_code == 0, done.output
    assert "of which 1 members are in bind?" in done.stdout
    found = table.gang(TRAIN)
    assert found is not None
    assert (found.state, found.reason) == (GangState.ENDED, "gang waits: an operator ended its placement")
    assert table.domain().open is None


def test_release_counts_nobody_of_a_committed_gang_in_bind(table: DynamoDBGangTable) -> None:
    """As the list does: its members have their places."""
    item = table.gang(TRAIN)
    assert item is not None
    table.put(item.changed(GangState.COMMITTED, time.time()), item)
    assert orjson.loads(berth("describe", "ml/train", *TABLE, "-o", "json").stdout)["members"]["inBind"] == 0
    assert "of which 0 members are in bind?" in berth("release", "ml/train", *TABLE, typed="n\n").stdout


def test_release_writes_nothing_without_a_yes(table: DynamoDBGangTable) -> None:
    assert berth("release", "ml/train", *TABLE, typed="n\n").exit_code == 1
    found = table.gang(TRAIN)
    assert found is not None
    assert found.state is GangState.OPEN


def test_release_prints_json_and_fails_where_nobody_is_in_bind(table: DynamoDBGangTable) -> None:
    done = berth("release", "ml/other", *TABLE, "--yes", "-o", "json")
    assert done.exit_code == 1
    assert orjson.loads(done.stdout) == {"gang": "ml/other", "result": "not-open"}


def test_release_at_a_server_asks_and_ends_the_round(table: DynamoDBGangTable, gateway_port: int) -> None:
    done = berth("release", "ml/train", *server(gateway_port), typed="y\n")
    assert done.exit_code == 0, done.output
    assert "of which 1 members are in bind?" in done.stdout
    found = table.gang(TRAIN)
    assert found is not None
    assert (found.state, table.domain().open) == (GangState.ENDED, None)


def test_release_at_a_server_writes_nothing_without_a_yes(table: DynamoDBGangTable, gateway_port: int) -> None:
    assert berth("release", "ml/train", *server(gateway_port), typed="n\n").exit_code == 1
    found = table.gang(TRAIN)
    assert found is not None
    assert found.state is GangState.OPEN


def test_release_at_a_server_fails_where_nobody_is_in_bind(gateway_port: int) -> None:
    done = berth("release", "ml/other", *server(gateway_port), "--yes", "-o", "json")
    assert done.exit_code == 1
    assert orjson.loads(done.stdout) == {"gang": "ml/other", "result": "not-open"}


def server(port: int) -> tuple[str, str]:
    """The options that name it."""
    return ("--url", f"http://127.0.0.1:{port}/scheduler")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["release", "ml/train", *TABLE, "--url", "http://127.0.0.1:1/scheduler"], id="table and server"),
        pytest.param(["list"], id="no source"),
        pytest.param(["list", *TABLE, "--url", "http://127.0.0.1:1/scheduler"], id="two sources"),
        pytest.param(["list", "--stack", "s", "--cache-table", "t"], id="a cache table with a stack"),
        pytest.param(["describe", "train", *TABLE], id="no namespace"),
        pytest.param(["release", "ml/a/b", *TABLE, "--yes"], id="a name that is none"),
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str]) -> None:
    assert berth(*arguments).exit_code == 2


def test_list_of_a_live_cluster_says_what_a_gang_waits_for(tmp_path: Path) -> None:
    config = tmp_path / "berth.yaml"
    config.write_text("apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\ngangs: {enabled: true}\n")
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = [node_with("n0", None, allocatable={"cpu": "4", "pods": "110"})]
        for number in range(2):
            pod = member_object(f"train-{number}", "train", 4)
            kubernetes.pods["ml", f"train-{number}"] = pod
        file = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        done = berth("list", "--kubeconfig", str(file), "--config", str(config), "-o", "json")
    assert done.exit_code == 0, done.output
    [found] = orjson.loads(done.stdout)["gangs"]
    assert (found["state"], found["waitsFor"]) == ("waits-for-members", "2 of 4 members exist")
