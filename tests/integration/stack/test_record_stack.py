"""`berth record --table` on the tables of a stack, in DynamoDB."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import hash_of
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth_cli.main import main
from berth_cli.recording.format import Header, State, read_recording
from berth_cli.recording.stack_recording import NOTES
from berth_cli.serve.stores import CACHE_TABLE
from tests.builders.custom_plugins import NAMED


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
