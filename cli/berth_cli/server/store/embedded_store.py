"""The store of a process: all its tables."""

from __future__ import annotations

import os
import socket
import time
from uuid import uuid4

from botocore.config import Config

from berth.configuration.store import ConfigurationStore
from berth.ledger.lease import StoreIdentity
from berth.ledger.nodes.table import Marker, MarkerState
from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables
from berth_cli.server.store.cache_table import InMemoryConfigurationStore, TrimmedCacheTable
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog, InMemoryLedgerTable


def _random_id() -> str:
    return uuid4().hex


class InMemoryStoreIdentity(StoreIdentity):
    """The identity of a store that is created and lost with its process."""

    def __init__(self, identity: str) -> None:
        self._identity = identity

    def get(self) -> str:
        return self._identity

    def put_if_absent(self, identity: str) -> bool:
        return False


class EmbeddedStore:
    """The tables of one process, shared between the threads of verbs and watcher. Each table has its own lock, held for
    one operation.

    identity: unique for each store. Two servers with different identities count separately. cache_table, ledger_table:
    placeholders, because the functions' settings need names.
    """

    cache_table = ledger_table = "memory"
    description = (
        "in memory, ends with this process. A second server has a store of its own: where resources are counted, run "
        "one server only, or share tables with --store dynamodb"
    )

    def __init__(self) -> None:
        self.identity = f"berth serve on {socket.gethostname()}, process {os.getpid()}/{_random_id()}"
        head = InMemoryItem()
        self.ledger = InMemoryLedgerTable()
        gangs, identity = InMemoryGangTable(self.ledger), InMemoryStoreIdentity(self.identity)
        lock, standby = InMemoryLeaseLock(head, _random_id), InMemoryLeaseLock(InMemoryItem(), _random_id)
        self._tables = Tables(
            cache=TrimmedCacheTable(head),
            configuration=InMemoryConfigurationStore(head),
            head_lock=lambda: lock,
            standby_lock=lambda: standby,
            ledger=self.ledger,
            identity=lambda: identity,
            in_process=True,
            announcements=InMemoryAnnouncementLog(),
            gangs=lambda: gangs,
        )

    @property
    def configuration(self) -> ConfigurationStore:
        """The store of applied documents."""
        return self._tables.configuration

    def open(self, settings: PolicySettings, calls: Config) -> Tables:
        """Return these tables, regardless of the names in the settings, and without timeouts, because memory does not
        wait."""
        return self._tables

    def mark_ledger_ready(self) -> None:
        """Skip the rebuild. Allowed if the cluster is in the same process: then earlier binds have ended."""
        self.ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), self.identity), None)
