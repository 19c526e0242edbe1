"""`berth record` on the tables of a stack, in DynamoDB."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import hash_of
from berth.decisions.dynamodb_table import DynamoDBDecisionTable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.watcher import WatcherOutcome
from berth_cli.config.document import load_configuration
from berth_cli.main import main
from berth_cli.record import stack as stack_tables
from berth_cli.recording.format import Header, State, read_recording
from berth_cli.recording.stack_recording import NOTES, StackRecording
from berth_cli.serve import local_stack
from berth_cli.serve.local_stack import LocalStack
from berth_cli.serve.stores import CACHE_TABLE, DynamoDBStore
from berth_cli.sources.stack import CACHE_TABLE_NAME, DeployedStack
from tests.builders.custom_plugins import NAMED
from tests.builders.events import http_event
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.moto_dynamodb import MotoDynamoDB
from tests.integration.serve.serving import eventually


def record(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["record", *arguments], prog_name="berth")


@pytest.fixture
def to_table(tmp_path: Path) -> str:
    """A configuration with decisions in the table."""
    path = tmp_path / "berth.yaml"
    path.write_text("decisions: table\n")
    return str(path)


@pytest.mark.usefixtures("stack")
def test_the_node_cache_is_recorded_and_the_file_says_what_a_stack_cannot_give(tmp_path: Path, to_table: str) -> None:
    path = tmp_path / "r"
    done = record(str(path), "--table", CACHE_TABLE, "--config", to_table, "--for", "0")
    assert (done.exit_code, done.stdout) == (0, f"{path}: 0 decisions\n"), done.output
    header, state = read_recording(path)
    assert isinstance(header, Header)
    assert isinstance(state, State)
    assert header.notes == NOTES
    assert {"n10", "n20"} <= {change.key for change in state.changes}


@pytest.mark.usefixtures("stack")
def test_pseudonyms_are_recorded(tmp_path: Path, to_table: str) -> None:
    path = tmp_path / "r"
    options = ["--table", CACHE_TABLE, "--config", to_table, "--for", "0", "--pseudonyms"]
    assert record(str(path), *options).exit_code == 0
    _, state = read_recording(path)
    assert isinstance(state, State)
    assert not {"n10", "n20"} & {change.key for change in state.changes}


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        pytest.param(
            ["--table", CACHE_TABLE, "--profile", "label-priority"],
            1,
            f"the table {CACHE_TABLE} keeps no decisions in its table: decisions is log; apply decisions: table",
            id="decisions go to the log",
        ),
        pytest.param(
            ["--table", CACHE_TABLE], 1, f"no configuration was applied to {CACHE_TABLE}", id="an unknown policy"
        ),
        pytest.param(["--table", "none"], 1, "table none: the table does not exist", id="no table"),
        pytest.param([], 2, "give either --stack NAME or --table NAME", id="nothing to record"),
        pytest.param(["--stack", "s", "--keep-name", "x"], 2, "--keep-name needs --pseudonyms", id="no pseudonyms"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], status: int, message: str) -> None:
    done = record(str(tmp_path / "r"), *arguments, "--for", "0")
    assert (done.exit_code, message in done.stderr, (tmp_path / "r").exists()) == (status, True, False), done.output


@pytest.mark.usefixtures("stack")
def test_an_applied_configuration_whose_plugins_are_missing_here_is_one_line(
    tmp_path: Path, to_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = NAMED.replace("mine:Passes", "absent:Absent")
    monkeypatch.setattr(DynamoDBCacheTable, "configuration_hash", lambda self: hash_of(applied))
    monkeypatch.setattr(DynamoDBConfigurationStore, "read", lambda self: applied)
    done = record(str(tmp_path / "r"), "--table", CACHE_TABLE, "--config", to_table, "--for", "0")
    assert done.exit_code == 1
    assert "give the command --plugins DIR with the module" in done.stderr


@pytest.mark.usefixtures("stack")
def test_a_recording_is_not_overwritten(tmp_path: Path, to_table: str) -> None:
    path = tmp_path / "r"
    path.write_text("mine")
    done = record(str(path), "--table", CACHE_TABLE, "--config", to_table, "--for", "0")
    assert (done.exit_code, path.read_text()) == (1, "mine")
    assert "the file exists; name a new one" in done.stderr


PODS = ("train-0", "train-2")
"""They wait in events/cluster.yaml."""


@pytest.fixture
def deployed(cluster_dump: str, monkeypatch: pytest.MonkeyPatch, to_table: str) -> Iterator[LocalStack]:
    """A stack that keeps its decisions in its own tables, as CloudFormation describes it."""
    tables = DynamoDBStore("recorded-cache", "recorded-ledger")
    found = DeployedStack("recorded", None, {"Profile": "label-priority"}, {CACHE_TABLE_NAME: tables.cache_table})
    monkeypatch.setattr(stack_tables, "describe", lambda *_: found)
    before = os.environ.copy()
    try:
        store, cluster = MotoDynamoDB().install(tables), local_stack.dump_environment(Path(cluster_dump))
        stack = local_stack.start(load_configuration(Path(to_table), None), cluster, log_level="INFO", store=store)
        assert stack.run_watcher_once()["outcome"] == WatcherOutcome.HANDED_OVER
        yield stack
    finally:
        os.environ.clear()
        os.environ.update(before)


def test_decisions_of_a_stack_are_recorded_and_made_again(
    tmp_path: Path, deployed: LocalStack, dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch, to_table: str
) -> None:
    path, table = tmp_path / "r", DynamoDBDecisionTable(dynamodb, "recorded-cache")
    follow = StackRecording.follow

    def follow_and_decide(recording: StackRecording) -> None:
        follow(recording)
        for verb, name in product(("filter", "prioritize"), PODS):
            body = orjson.dumps(cache_mode(["n10", "n20"], pod_object(name))).decode()
            route = f"POST /scheduler/{verb}"
            assert deployed.gateway.handlers[route](http_event(body, route), None)["statusCode"] == 200
        # A thread of its own writes them.
        eventually(lambda: sum(1 for name in PODS for _ in table.since("ml", name, at=0)) == 4, 30)

    monkeypatch.setattr(StackRecording, "follow", follow_and_decide)
    done = record(str(path), "--stack", "recorded", "--config", to_table, "--for", "0")
    assert (done.exit_code, done.stdout) == (0, f"{path}: 4 decisions\n"), done.output
    replayed = CliRunner().invoke(main, ["replay", str(path)], prog_name="berth")
    assert (replayed.exit_code, ": 4 decisions about 2 pods, " in replayed.stdout) == (0, True), replayed.output
    assert replayed.stdout.splitlines()[0].endswith(": 0 differ")
