"""`berth config apply` and `rollback` end when no verb decides by the document before."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.bind.rules import RulesInForce
from berth.bind.share import Reservations
from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import Configurations, CountingLossCheck
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.apply import effect_delay
from berth_cli.main import main
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import DeployedStack
from tests.builders.tables import create_cache_table
from tests.fakes.announcements import NoAnnouncements
from tests.unit.lease.clocks import EnvironmentClock

TABLE = "config-taking-effect"
NODES_ALONE, OTHER_PODS = "profile: label-priority\n", "profile: full\n"


@pytest.mark.parametrize(
    ("before", "http_timeout", "interval", "seconds"),
    [
        pytest.param(None, "5", 10, 15, id="bind reads the document every 10 s"),
        pytest.param('{"profile":"full"}', "29", 10, 39, id="a call takes the httpTimeout"),
        pytest.param(None, "", 10, 40, id="the longest httpTimeout of all, where it is unknown"),
        pytest.param('{"nodeCache":{"minHeadReadInterval":2.5}}', "5", 10, 15, id="an interval shorter than bind's"),
        pytest.param('{"nodeCache":{"minHeadReadInterval":60}}', "5", 60, 65, id="an interval longer than bind's"),
        pytest.param("no JSON", "5", 60, 65, id="the longest interval of all, where it is unknown"),
    ],
)
def test_waits_for_the_longest_interval_and_the_longest_call(
    before: str | None, http_timeout: str, interval: float, seconds: float
) -> None:
    effect = effect_delay(before, http_timeout)
    assert (effect.interval, effect.seconds) == (interval, seconds)
    assert f"a verb may read it {interval:g} s late" in effect.cause


class Bind:
    """A warm environment of bind on the table that the command writes. It reads the document when it is asked."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.clock = EnvironmentClock()
        ledger, store = InMemoryLedgerTable(), DynamoDBConfigurationStore(client, TABLE)
        self._counting = RulesInForce(
            DynamoDBCacheTable(client, TABLE).configuration_hash,
            Configurations(store, BerthConfiguration),
            Reservations(ledger, lambda: "id", time.time, call_seconds=1),
            self.clock,
            pytest.fail,
            CountingLossCheck(ledger.marker, store.counting_is_stopped, self.clock),
            NoAnnouncements(),
        )

    def announces(self) -> bool:
        return self._counting.current().announcements is not None


@pytest.fixture
def bind(dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bind]:
    """While the command waits, the environment's time goes on."""
    create_cache_table(dynamodb, TABLE)
    monkeypatch.setattr(stacks, "describe", lambda name, region=None: STACK)
    bind = Bind(dynamodb)
    monkeypatch.setattr(time, "sleep", bind.clock.advance)
    yield bind
    dynamodb.delete_table(TableName=TABLE)


STACK = DeployedStack("berth", None, {}, {"CacheTableName": TABLE, "HttpTimeoutSeconds": "5"})


def config(*arguments: str, stdin: str | None = None) -> Result:
    done = CliRunner().invoke(main, ["config", *arguments, "--stack", "berth", "--skip-trial"], input=stdin)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize(
    ("waited", "announce"),
    [
        pytest.param(9.9, 3, id="too short for the one that read the document last"),
        pytest.param(10.0, 4, id="the interval is enough for all"),
    ],
)
def test_every_warm_environment_has_the_document_after_the_interval(
    bind: Bind, dynamodb: DynamoDBClient, waited: float, announce: int
) -> None:
    config("apply", "-", stdin=NODES_ALONE)
    environments = [bind, *(Bind(dynamodb) for _ in range(3))]
    for number, environment in enumerate(environments):
        assert not environment.announces()
        environment.clock.advance(number * 3.0)
    config("apply", "-", "--no-wait", stdin=OTHER_PODS)
    for environment in environments:
        environment.clock.advance(waited)
    assert sum(environment.announces() for environment in environments) == announce


@pytest.mark.parametrize("command", [("apply", "-"), ("rollback",)], ids=["apply", "rollback"])
def test_no_wait_says_how_long_it_takes(bind: Bind, command: tuple[str, ...]) -> None:
    config("apply", "-", stdin=OTHER_PODS)
    config("apply", "-", stdin=NODES_ALONE)
    assert not bind.announces()
    done = config(*command, "--no-wait", stdin=OTHER_PODS)
    assert not bind.announces()
    assert done.stderr.splitlines()[-1].startswith("note: it takes up to 15 s until every verb uses the document")
    assert "every verb uses it" not in done.stdout


@pytest.mark.usefixtures("bind")
def test_says_that_another_document_was_applied_while_it_waited(
    dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = DynamoDBConfigurationStore(dynamodb, TABLE)
    monkeypatch.setattr(time, "sleep", lambda seconds: another.apply('{"profile":"resource-segregation"}'))
    done = CliRunner().invoke(main, ["config", "apply", "-", "--stack", "berth", "--skip-trial"], input=OTHER_PODS)
    assert done.exit_code == 1
    assert "another document was applied meanwhile: see berth config history" in done.stderr
    assert "every verb uses it" not in done.stdout


def test_dry_run_and_refusal_do_not_wait(pauses: list[float]) -> None:
    for document in ("profile: none\n", OTHER_PODS):
        done = CliRunner().invoke(main, ["config", "apply", "-", "--cache-table", "absent"], input=document)
        assert done.exit_code == 1
    assert pauses == []
