"""`berth explain --stack` on the tables of a stack, in DynamoDB."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.decisions.recorders import PARTITION_PREFIX, DynamoDBDecisionTable
from berth_cli.main import main
from berth_cli.serve.stores import CACHE_TABLE
from berth_cli.sources.stack import CACHE_TABLE_NAME, DeployedStack

NOW = 1_800_000_000.0
RECORD: dict[str, object] = {
    "version": 1,
    "time": NOW,
    "verb": "filter",
    "namespace": "ml",
    "name": "train-0",
    "uid": "uid-train-0",
    "outcome": "none-feasible",
    "profile": "label-priority",
    "configurationHash": "",
    "cacheAgeSeconds": 0.5,
    "nodes": 2,
    "feasible": 0,
    "reasons": [],
}


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], prog_name="berth")


OPTIONS = ("--stack", "s", "-o", "json")


@pytest.fixture(autouse=True)
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    """CloudFormation is not asked: the stack has these parameters and outputs."""
    found = DeployedStack("s", None, {"Profile": "label-priority"}, {CACHE_TABLE_NAME: CACHE_TABLE})
    monkeypatch.setattr("berth_cli.explain.sources.stack.describe", lambda *_: found)


@pytest.fixture
def record(dynamodb: DynamoDBClient) -> Iterator[None]:
    """A record of the pod ml/train-0 in the table."""
    DynamoDBDecisionTable(dynamodb, CACHE_TABLE).put(RECORD)
    yield
    key = {"pk": {"S": f"{PARTITION_PREFIX}ml/train-0"}, "sk": {"N": str(int(NOW * 1_000_000))}}
    dynamodb.delete_item(TableName=CACHE_TABLE, Key=key)


@pytest.mark.usefixtures("stack", "record")
def test_pod_is_explained_by_the_node_cache_and_its_attempts_by_the_table() -> None:
    done = explain("ml/train-0", *OPTIONS)
    found = json.loads(done.stdout)
    # The nodes of events/cluster.yaml have no allocatable.
    assert [(each["code"], each["nodes"]) for each in found["reasons"]] == [
        ("TooManyPods", ["n10", "n20", "plain", "worded"])
    ]
    assert [each["time"] for each in found["attempts"]] == [NOW]


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["ml/gone", *OPTIONS],
            "the stack s has no pod ml/gone: its node cache has none of that name: the pod is gone, or the watcher has "
            "not seen it yet",
            id="a pod that is gone",
        ),
        pytest.param(["p", "--stack", "s", "--url", "http://x"], "give --stack NAME or --url URL", id="two records"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(arguments: list[str], message: str) -> None:
    done = explain(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
