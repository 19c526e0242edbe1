"""What the tables of a stack say about a pod: the cluster as its node cache has it, its configuration, and the records
of its decisions.

The user needs GetItem and Query on the cache table and, with --stack, cloudformation:DescribeStacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import boto3
from botocore.exceptions import BotoCoreError
from pydantic import ValidationError

from berth.cluster.field_projection import RequiredFields
from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.decisions.dynamodb_table import DynamoDBDecisionTable
from berth.dynamodb_errors import TableUnavailable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import CacheTable
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.fields.reading import Object
from berth.scheduling.policy import Policy
from berth_cli.cached_objects import ObjectsView, as_dump
from berth_cli.config.stack import TABLE_OUTPUT
from berth_cli.deployed_stack import CLIENT_CONFIG, DeployedStack, StackUnavailable, describe
from berth_cli.explain.attempts import Attempts, NoRecord
from berth_cli.explain.sources.records import ALWAYS, DecisionRecord, attempts_of, later_version
from berth_cli.input_files import InvalidInput
from berth_cli.recording.missing_fields import missing_fields

MOST_RECORDS = 50


@dataclass(frozen=True, slots=True)
class StackState:
    """objects: as a dump has them, with the fields that Berth keeps. configuration: that in force. age: of the objects,
    in seconds. where: how the table is called in messages. fallback: why another configuration than the applied one is
    in force; may be empty."""

    objects: list[Object]
    configuration: BerthConfiguration
    attempts: Attempts | NoRecord
    age: float
    where: str
    fallback: str = ""

    @property
    def is_stale(self) -> bool:
        """Whether the verbs do not decide by these objects."""
        return self.age > self.configuration.node_cache.max_staleness

    @property
    def fails(self) -> bool:
        """Whether the verbs answer with an error: an exempt pod passes all the same."""
        return self.is_stale and self.configuration.node_cache.when_stale is WhenStale.FAIL

    def missing_fields(self, policy: Policy) -> tuple[str, ...]:
        """What this policy reads and the objects lack: the configuration in force does not read it."""
        return tuple(missing_fields(policy, RequiredFields.of(self.configuration.policy())))


def read_stack(
    stack: str | None, table: str | None, region: str | None, pod: tuple[str, str], given: BerthConfiguration | None
) -> StackState:
    """Read the tables of the stack, or this cache table. pod: namespace and name. given: the policy to explain by.

    Raises InvalidInput.
    """
    try:
        deployed = None if stack is None else describe(stack, region)
        name = table or ("" if deployed is None else deployed.output(TABLE_OUTPUT))
        client = boto3.client("dynamodb", region_name=region, config=CLIENT_CONFIG)
        return read_tables(
            DynamoDBCacheTable(client, name),
            Configurations(
                DynamoDBConfigurationStore(client, name), lambda: deployed_configuration(deployed, name, given)
            ),
            lambda: DynamoDBDecisionTable(client, name).of_pod(*pod, MOST_RECORDS),
            f"the stack {stack}" if stack else f"the table {name}",
            time.time(),
        )
    except (TableUnavailable, StackUnavailable, ConfigurationInvalid) as error:
        raise InvalidInput(str(error)) from error
    except BotoCoreError as error:
        raise InvalidInput(f"{error}; are AWS credentials and region set?") from error


def read_tables(
    cache: CacheTable,
    configurations: Configurations,
    records: Callable[[], list[object]],
    where: str,
    now: float,
) -> StackState:
    """now: seconds since the epoch. Raises InvalidInput, TableUnavailable and ConfigurationInvalid."""
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
    age = now - _observed_at(head)
    return StackState(list(as_dump(found)), configuration, attempts, age, where, configured.fallback)


def _observed_at(head: Head | None) -> float:
    assert head is not None
    assert head.pointer is not None
    return head.pointer.observation.observed_at


def deployed_configuration(
    stack: DeployedStack | None, table: str, given: BerthConfiguration | None
) -> BerthConfiguration:
    """The one that decides while none is applied. A table alone does not say; then it is taken to be the given one.

    Raises ConfigurationInvalid.
    """
    if stack is not None:
        return stack.configuration()
    if given is None:
        raise ConfigurationInvalid(f"no configuration was applied to {table}; give --config or --profile")
    return given


def _attempts(documents: list[object], configuration: BerthConfiguration, where: str) -> Attempts | NoRecord:
    later = later_version(documents)
    if later is not None:
        return NoRecord(f"{where} has records of version {later}; install the release of the stack here")
    try:
        records = [DecisionRecord.model_validate(each) for each in documents]
    except ValidationError as error:
        first = error.errors()[0]
        return NoRecord(f"{where} has a record that cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    found = attempts_of(records, complete_after=records[0].time if len(records) == MOST_RECORDS else ALWAYS)
    if found is not None:
        return found
    if configuration.decisions is not Decisions.TABLE:
        kept_in = configuration.decisions or Decisions.LOG
        return NoRecord(f"{where} keeps no records in its table: decisions is {kept_in}; apply decisions: table")
    return NoRecord(
        f"{where} has no record of this pod: no scheduler has asked about it in seven days, or it asked a moment ago"
    )
