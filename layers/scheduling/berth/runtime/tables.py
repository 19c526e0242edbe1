"""The tables of a stack, through the ports of the code that uses them. In Lambda they are in DynamoDB. `berth serve`
gives the functions its own store by `tables_opened_by`, while it loads their modules."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from botocore.config import Config

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationStore
from berth.ledger.announcements import AnnouncementLog
from berth.ledger.dynamodb_announcements import DynamoDBAnnouncementLog
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.table import CacheTable
from berth.runtime.aws_clients import aws_client
from berth.runtime.environment import set_until_end
from berth.runtime.settings import PolicySettings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from berth.authentication.stores import AllowListStore
    from berth.decisions.recorders import DynamoDBDecisionTable
    from berth.lease.lock import LeaseLock
    from berth.ledger.gangs.table import GangTable
    from berth.ledger.lease import StoreIdentity


@dataclass(frozen=True, slots=True)
class Tables:
    """The cache table and the ledger. Thread-safe. Fields that are callables import their code when they are called.

    ledger, identity, announcements, gangs: None if there is no ledger. in_process: the tables end with this process,
    and reads do not wait for a network. decisions, allow_list: None if the store does not have this table.
    """

    cache: CacheTable
    configuration: ConfigurationStore
    head_lock: Callable[[], LeaseLock]
    standby_lock: Callable[[], LeaseLock]
    ledger: LedgerTable | None = None
    identity: Callable[[], StoreIdentity] | None = None
    in_process: bool = False
    announcements: AnnouncementLog | None = None
    gangs: Callable[[], GangTable] | None = None
    decisions: Callable[[], DynamoDBDecisionTable] | None = None
    allow_list: Callable[[], AllowListStore] | None = None


OpenTables = Callable[[PolicySettings, Config], Tables]
"""Opens the tables that the settings name, for calls with these timeouts. Does not read them."""


def dynamodb_tables(
    settings: PolicySettings, calls: Config, *, region: str | None = None, endpoint_url: str | None = None
) -> Tables:
    """Return the tables in DynamoDB, through one client. `region` and `endpoint_url`: by default the environment's."""
    client = aws_client("dynamodb", calls, region=region, endpoint_url=endpoint_url)
    name, ledger = settings.cache_table, settings.ledger_table
    return Tables(
        DynamoDBCacheTable(client, name),
        DynamoDBConfigurationStore(client, name, ledger),
        partial(_lease_lock, client, name, is_standby=False),
        partial(_lease_lock, client, name, is_standby=True),
        DynamoDBLedgerTable(client, ledger) if ledger else None,
        partial(_store_identity, client, ledger) if ledger else None,
        announcements=DynamoDBAnnouncementLog(client, ledger) if ledger else None,
        gangs=partial(_gang_table, client, ledger) if ledger else None,
        decisions=partial(_decision_table, client, name),
        allow_list=partial(_allow_list, client, name),
    )


def _lease_lock(client: DynamoDBClient, name: str, *, is_standby: bool) -> LeaseLock:
    from berth.dynamodb import HEAD_KEY
    from berth.lease.dynamodb_lock import STANDBY_KEY, DynamoDBLeaseLock

    return DynamoDBLeaseLock(client, name, key=STANDBY_KEY if is_standby else HEAD_KEY)


def _store_identity(client: DynamoDBClient, ledger: str) -> StoreIdentity:
    from berth.ledger.lease import DynamoDBStoreIdentity

    return DynamoDBStoreIdentity(client, ledger)


def _gang_table(client: DynamoDBClient, ledger: str) -> GangTable:
    from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable

    return DynamoDBGangTable(client, ledger)


def _decision_table(client: DynamoDBClient, name: str) -> DynamoDBDecisionTable:
    from berth.decisions.recorders import DynamoDBDecisionTable

    return DynamoDBDecisionTable(client, name)


def _allow_list(client: DynamoDBClient, name: str) -> AllowListStore:
    from berth.authentication.dynamodb_allow_list import DynamoDBAllowList

    return DynamoDBAllowList(client, name)


_open_tables: ContextVar[OpenTables] = ContextVar("open_tables", default=dynamodb_tables)


def table_opener() -> OpenTables:
    """Return the tables' opener. Call this while the function's module is imported; tables may be opened later."""
    return _open_tables.get()


def tables_opened_by(open_tables: OpenTables) -> AbstractContextManager[None]:
    """Give these tables to functions that are loaded until the block ends; the functions keep them."""
    return set_until_end(_open_tables, open_tables)
