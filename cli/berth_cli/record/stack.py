"""The tables of a stack, opened for a recording."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import boto3
import click

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid, Configurations, hash_of
from berth.decisions.dynamodb_table import DynamoDBDecisionTable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.recording.format import RecordingWriter
from berth_cli.recording.stack_recording import NOTES, RecordingCounts, StackRecording, keeps_no_decisions
from berth_cli.sources.stack import CACHE_TABLE_NAME, CLIENT_CONFIG, describe


@dataclass(frozen=True, slots=True)
class RecordedStack:
    """where: how it is called in messages. begins: seconds since the epoch."""

    where: str
    recording: StackRecording
    decisions: DynamoDBDecisionTable
    store: DynamoDBConfigurationStore
    configurations: Configurations
    configuration: BerthConfiguration
    begins: float
    notes: tuple[str, ...] = NOTES

    def check(self) -> None:
        """Raises ClickException where the stack keeps no decisions in its table."""
        if self.configuration.decisions is not Decisions.TABLE:
            raise click.ClickException(keeps_no_decisions(self.where, self.configuration))

    def write(self, writer: RecordingWriter) -> RecordingCounts:
        """Read the decisions and write everything. Raises TableUnavailable."""
        documents = {hash_of(each.document): each.document for each in self.store.history()}

        def document_of(applied: str) -> BerthConfiguration:
            if applied in documents:
                return BerthConfiguration.model_validate_json(documents[applied])
            return self.configurations.at(applied).document

        return self.recording.write(writer, partial(self.decisions.since, at=self.begins), document_of)


def open_stack(
    stack: str | None, table: str | None, region: str | None, given: BerthConfiguration | None
) -> RecordedStack:
    """given: the deployed policy, where no configuration was applied. Raises StackUnavailable, TableUnavailable and
    ClickException."""
    deployed = None if stack is None else describe(stack, region)
    name = table or ("" if deployed is None else deployed.output(CACHE_TABLE_NAME))
    where = f"the stack {stack}" if stack else f"the table {name}"

    def unconfigured() -> BerthConfiguration:
        if given is not None:
            return given
        if deployed is None:
            raise ConfigurationInvalid(f"no configuration was applied to {name}; give --config or --profile")
        return deployed.configuration()

    client = boto3.client("dynamodb", region_name=region, config=CLIENT_CONFIG)
    cache, store = DynamoDBCacheTable(client, name), DynamoDBConfigurationStore(client, name)
    configurations = Configurations(store, unconfigured)
    try:
        configured = configurations.at(cache.configuration_hash())
    except ConfigurationInvalid as error:
        raise click.ClickException(f"{where}: {error}") from error
    if configured.lacks_plugins:
        raise click.ClickException(f"{where}: {configured.fallback}")
    return RecordedStack(
        where,
        StackRecording(cache),
        DynamoDBDecisionTable(client, name),
        store,
        configurations,
        configured.document,
        time.time(),
    )
