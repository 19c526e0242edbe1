"""Reads a pod's data from the tables of a stack: the node cache, the configuration and the records of decisions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import boto3
import click
from pydantic import ValidationError

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.decisions.recorders import DynamoDBDecisionTable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable
from berth.scheduling.configuration.document import BerthConfiguration, Decisions, WhenStale
from berth.scheduling.fields.reading import Object
from berth_cli.sources.attempts import Attempt, Attempts, NoRecord, attempts_of, cause_of
from berth_cli.sources.cached_objects import ObjectsView, as_dump
from berth_cli.sources.stack import CACHE_TABLE_NAME, CLIENT_CONFIG, aws_errors, describe
from berth_cli.terminal.input_files import InvalidInput
from berth_cli.terminal.output import duration

MAX_RECORDS = 50


@dataclass(frozen=True, slots=True)
class StackState:
    """The state of a stack. objects: the objects as in a dump, with the fields that Berth keeps. configuration: the
    configuration in force. age: the age of the objects in seconds. fallback: why the applied configuration is not in
    force; may be empty."""

    objects: list[Object]
    configuration: BerthConfiguration
    attempts: Attempts | NoRecord
    age: float
    where: str
    fallback: str = ""

    @property
    def stale(self) -> str:
        """The reason why these objects are too old for the verbs; empty if they are not."""
        node_cache = self.configuration.node_cache
        if self.age <= node_cache.max_staleness:
            return ""
        return (
            f"the node cache is {duration(self.age)} old, older than maxStaleness ({node_cache.max_staleness:g} s): "
            f"whenStale is {node_cache.when_stale}; run berth doctor"
        )

    @property
    def failure(self) -> str:
        """The reason why the verbs return an error; empty if they do not."""
        fails = self.configuration.node_cache.when_stale is WhenStale.FAIL
        return f"Berth cannot decide: {self.stale}" if self.stale and fails else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        fallback = f"The applied configuration is not in use: {self.fallback}." if self.fallback else ""
        return tuple(filter(None, (self.stale, fallback)))


def read_stack(stack: str, region: str | None, pod: tuple[str, str]) -> StackState:
    """Read the tables of the stack. pod: namespace and name. Raises InvalidInput."""
    try:
        with aws_errors():
            deployed = describe(stack, region)
            name = deployed.output(CACHE_TABLE_NAME)
            client = boto3.client("dynamodb", region_name=region, config=CLIENT_CONFIG)
            configurations = Configurations(DynamoDBConfigurationStore(client, name), deployed.configuration)
            records = DynamoDBDecisionTable(client, name).of_pod
            cache, where = DynamoDBCacheTable(client, name), f"the stack {stack}"
            return read_tables(cache, configurations, lambda: records(*pod, MAX_RECORDS), where, time.time())
    except (click.ClickException, ConfigurationInvalid) as error:
        raise InvalidInput(str(error)) from error


def read_tables(
    cache: CacheTable, configurations: Configurations, records: Callable[[], list[object]], where: str, now: float
) -> StackState:
    """Read the state from these tables. now: seconds since the epoch. Raises InvalidInput, TableUnavailable and
    ConfigurationInvalid."""
    head = cache.head()
    configured = configurations.at("" if head is None else head.configuration_hash)
    if configured.lacks_plugins:
        raise InvalidInput(f"{where}: {configured.fallback}")
    configuration = configured.document
    try:
        found = NodeCacheReader(cache, ObjectsView(), time.sleep).at(head)
    except NothingPublished as error:
        raise InvalidInput(f"{where}: {error}") from error
    attempts = _attempts(records(), configuration, where)
    assert head is not None
    assert head.pointer is not None
    age = now - head.pointer.observation.observed_at
    return StackState(list(as_dump(found)), configuration, attempts, age, where, configured.fallback)


def _attempts(documents: list[object], configuration: BerthConfiguration, where: str) -> Attempts | NoRecord:
    try:
        records = [Attempt.model_validate(each) for each in documents]
    except ValidationError as error:
        return NoRecord(f"{where} has a record that cannot be read: {cause_of(error)}")
    found = attempts_of(records)
    if found is not None:
        return found
    if configuration.decisions is not Decisions.TABLE:
        kept_in = configuration.decisions or Decisions.LOG
        return NoRecord(f"{where} keeps no records in its table: decisions is {kept_in}; apply decisions: table")
    return NoRecord(
        f"{where} has no record of this pod: no scheduler has asked about it in seven days, or it asked a moment ago"
    )
