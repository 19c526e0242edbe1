"""`berth config apply` and `rollback` end when no verb decides by the document before."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth_cli.configuration.apply import effect_delay
from berth_cli.main import main
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import DeployedStack
from tests.builders.tables import create_cache_table

TABLE = "config-taking-effect"
OTHER_PODS = "profile: full\n"


@pytest.mark.parametrize(
    ("before", "http_timeout", "interval", "seconds"),
    [
        pytest.param(None, "5", 10, 15, id="bind reads the document every 10 s"),
        pytest.param('{"profile":"full"}', "29", 10, 39, id="a call takes the httpTimeout"),
        pytest.param(None, "", 10, 40, id="maximum httpTimeout if it is unknown"),
        pytest.param('{"nodeCache":{"minHeadReadInterval":2.5}}', "5", 10, 15, id="an interval shorter than bind's"),
        pytest.param('{"nodeCache":{"minHeadReadInterval":60}}', "5", 60, 65, id="an interval longer than bind's"),
        pytest.param("no JSON", "5", 60, 65, id="maximum interval if it is unknown"),
    ],
)
def test_waits_for_the_longest_interval_plus_the_longest_call(
    before: str | None, http_timeout: str, interval: float, seconds: float
) -> None:
    longest_interval, longest_call = effect_delay(before, http_timeout)
    assert (longest_interval, longest_interval + longest_call) == (interval, seconds)


@pytest.fixture
def deployed_stack(dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    create_cache_table(dynamodb, TABLE)
    monkeypatch.setattr(stacks, "describe", lambda name, region=None: STACK)
    yield
    dynamodb.delete_table(TableName=TABLE)


STACK = DeployedStack("berth", None, {}, {"CacheTableName": TABLE, "HttpTimeoutSeconds": "5"})


def apply(*options: str) -> Result:
    return CliRunner().invoke(
        main, ["config", "apply", "-", "--stack", "berth", "--skip-trial", *options], input=OTHER_PODS
    )


@pytest.mark.usefixtures("deployed_stack")
def test_waits_until_every_verb_uses_the_document(pauses: list[float]) -> None:
    done = apply()
    assert done.stderr.splitlines()[-1] == (
        "waiting 15 s until every verb uses the document: a verb may read it 10 s late, and a call that has begun "
        "takes up to 5 s; --no-wait leaves this out"
    )
    assert (done.exit_code, done.stdout.splitlines()[-1], sum(pauses)) == (0, "every verb uses it", 15)
    done = apply("--no-wait")
    assert done.stderr.splitlines()[-1].startswith("note: it takes up to 15 s until every verb uses the document")
    assert ("every verb uses it" in done.stdout, sum(pauses)) == (False, 15)


@pytest.mark.usefixtures("deployed_stack")
def test_reports_that_another_document_was_applied_during_the_wait(
    dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = DynamoDBConfigurationStore(dynamodb, TABLE)
    monkeypatch.setattr(time, "sleep", lambda seconds: another.apply('{"profile":"resource-segregation"}'))
    done = apply()
    assert done.exit_code == 1
    assert "another document was applied meanwhile: see berth config history" in done.stderr
    assert "every verb uses it" not in done.stdout


def test_dry_run_and_refusal_do_not_wait(pauses: list[float]) -> None:
    for document in ("profile: none\n", OTHER_PODS):
        done = CliRunner().invoke(main, ["config", "apply", "-", "--cache-table", "absent"], input=document)
        assert done.exit_code == 1
    assert pauses == []
