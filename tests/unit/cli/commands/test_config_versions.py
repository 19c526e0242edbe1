"""`berth config show`, `history`, `diff` and `rollback`, and a trial before `apply`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth_cli.configuration import trial
from berth_cli.main import main
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import DeployedStack
from tests.builders.tables import create_cache_table

pytestmark = pytest.mark.usefixtures("pauses")

TABLE = "config-versions"
FULL, SEGREGATION = "profile: full\n", "profile: resource-segregation\n"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["config", *arguments], input=stdin, prog_name="berth")


@pytest.fixture
def store(dynamodb: DynamoDBClient) -> Iterator[DynamoDBConfigurationStore]:
    create_cache_table(dynamodb, TABLE)
    yield DynamoDBConfigurationStore(dynamodb, TABLE)
    dynamodb.delete_table(TableName=TABLE)


def apply(document: str) -> None:
    done = run("apply", "-", "--cache-table", TABLE, stdin=document)
    assert done.exit_code == 0, done.stderr


@pytest.mark.usefixtures("store")
def test_show_prints_document_in_force_and_earlier_documents() -> None:
    apply(FULL)
    apply(SEGREGATION)
    assert run("show", "--cache-table", TABLE).stdout == SEGREGATION
    assert run("show", "--cache-table", TABLE, "--version", "1").stdout == FULL
    assert json.loads(run("show", "--cache-table", TABLE, "-o", "json").stdout) == {"profile": "resource-segregation"}


@pytest.mark.usefixtures("store")
def test_history_lists_versions_newest_first() -> None:
    assert run("history", "--cache-table", TABLE).stdout.startswith("no configuration was applied")
    apply(FULL)
    apply(SEGREGATION)
    lines = [line.split() for line in run("history", "--cache-table", TABLE).stdout.splitlines()]
    assert [(line[0], *line[3:]) for line in lines] == [
        ("VERSION", "PROFILE", "PLUGINS", "NOTE"),
        ("2", "resource-segregation", "-", "in", "force"),
        ("1", "full", "-"),
    ]
    rows = json.loads(run("history", "--cache-table", TABLE, "-o", "json").stdout)
    assert [(row["version"], row["inForce"]) for row in rows] == [(2, True), (1, False)]


def test_rollback_applies_the_previous_document_as_a_new_version(store: DynamoDBConfigurationStore) -> None:
    apply(FULL)
    apply(SEGREGATION)
    done = run("rollback", "--cache-table", TABLE)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"version 1 is applied to {TABLE}: profile full")
    assert store.read() == '{"profile":"full"}'
    assert [(each.version, each.note) for each in store.history()] == [(3, "rollback to version 1"), (2, ""), (1, "")]
    done = run("rollback", "--cache-table", TABLE, "--to", "2")
    assert done.stdout.startswith(f"version 2 is applied to {TABLE}: profile resource-segregation")
    assert store.read() == '{"profile":"resource-segregation"}'


class Functions:
    """The functions of a stack, which answer a trial with these reports. Its parameter Profile is `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **reports: Mapping[str, object]) -> None:
        stack = DeployedStack("berth", None, {"Profile": "full"}, {"CacheTableName": TABLE})
        monkeypatch.setattr(stacks, "describe", lambda name, region=None: stack)
        answers = {verb: {"body": json.dumps({"berthVersion": "x", **report})} for verb, report in reports.items()}
        functions: Any = {verb: lambda event, answer=answer: answer for verb, answer in answers.items()}
        monkeypatch.setattr(trial, "deployed_functions", lambda stack: functions)


JUDGED = {"error": "", "judged": 2, "pending": 1, "nodes": 3, "changes": []}


@pytest.mark.parametrize(
    "arguments", [pytest.param([], id="the only version before"), pytest.param(["--to", "0"], id="by its number")]
)
def test_rollback_of_the_first_document_applies_the_deployed_configuration(
    store: DynamoDBConfigurationStore, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    Functions(monkeypatch, filter=JUDGED)
    apply(SEGREGATION)
    done = run("rollback", "--stack", "berth", *arguments)
    assert (done.exit_code, store.read()) == (0, '{"profile":"full"}')
    assert f"version 0 is applied to {TABLE}: profile full" in done.stdout
    assert store.history()[0].note == "rollback to version 0"


@pytest.mark.usefixtures("store")
def test_history_and_show_include_the_deployed_configuration_of_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    Functions(monkeypatch, filter=JUDGED)
    rows = json.loads(run("history", "--stack", "berth", "-o", "json").stdout)
    assert [(row["version"], row["appliedAt"], row["profile"], row["inForce"]) for row in rows] == [
        (0, "deployed", "full", True)
    ]
    assert run("show", "--version", "0", "--stack", "berth").stdout == FULL
    apply(SEGREGATION)
    rows = json.loads(run("history", "--stack", "berth", "-o", "json").stdout)
    assert [(row["version"], row["inForce"]) for row in rows] == [(1, True), (0, False)]


def test_apply_refuses_unloadable_document(store: DynamoDBConfigurationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    Functions(monkeypatch, filter=JUDGED, bind={"error": "no module berth_plugins.team"})
    done = run("apply", "-", "--stack", "berth", stdin=FULL)
    assert done.exit_code == 1
    assert "standard input is not applied: bind: no module berth_plugins.team" in done.stderr
    assert store.read() is None
    assert store.history() == ()
    assert run("apply", "-", "--stack", "berth", "--skip-trial", stdin=FULL).exit_code == 0
    assert store.read() == '{"profile":"full"}'


def test_dry_run_does_not_apply_document(store: DynamoDBConfigurationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    Functions(monkeypatch, filter=JUDGED)
    done = run("apply", "-", "--stack", "berth", "--dry-run", stdin=FULL)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[1:] == [
        "2 recent pods (1 pending) on 3 nodes: none would be evaluated differently",
        "standard input is not applied: --dry-run",
    ]
    assert store.read() is None
    assert run("apply", "-", "--cache-table", TABLE, "--dry-run", stdin=FULL).exit_code == 2
