"""Where `berth serve` keeps node cache, lease, ledger and configuration: in this process, or in DynamoDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from botocore.config import Config

from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables, dynamodb_tables

CACHE_TABLE = "berth-cache"
LEDGER_TABLE = "berth-ledger"


class Store(Protocol):
    """cache_table, ledger_table: the names that the functions' settings have."""

    @property
    def cache_table(self) -> str: ...
    @property
    def ledger_table(self) -> str: ...
    @property
    def description(self) -> str:
        """For whoever starts the server: what the store is, and what that means for a second one."""

    def open(self, settings: PolicySettings, calls: Config) -> Tables:
        """See berth.runtime.tables."""


@dataclass(frozen=True, slots=True)
class DynamoDBStore:
    """Tables that exist. `region` and `endpoint_url`: by default the environment's."""

    cache_table: str = CACHE_TABLE
    ledger_table: str = LEDGER_TABLE
    region: str | None = None
    endpoint_url: str | None = None

    @property
    def description(self) -> str:
        """See Store."""
        where = f" at {self.endpoint_url}" if self.endpoint_url else ""
        return (
            f"the DynamoDB tables {self.cache_table} and {self.ledger_table}{where}. "
            "Servers with the same tables share node cache and ledger"
        )

    def open(self, settings: PolicySettings, calls: Config) -> Tables:
        """See Store."""
        return dynamodb_tables(settings, calls, region=self.region, endpoint_url=self.endpoint_url)
