"""Groups of `berth serve` options, and the checks of their combinations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import click
from botocore.config import Config

from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables, dynamodb_tables
from berth_cli.terminal.options import parse_duration

CACHE_TABLE = "berth-cache"
LEDGER_TABLE = "berth-ledger"


class Store(Protocol):
    """The store of a server. cache_table, ledger_table: the table names in the functions' settings."""

    @property
    def cache_table(self) -> str: ...
    @property
    def ledger_table(self) -> str: ...
    @property
    def description(self) -> str:
        """Describe the store, and its effect on a second server."""

    def open(self, settings: PolicySettings, calls: Config) -> Tables:
        """See berth.runtime.tables."""


@dataclass(frozen=True, slots=True)
class DynamoDBStore:
    """Existing tables. `region` and `endpoint_url`: by default the environment's."""

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


MIN_HTTP_TIMEOUT_SECONDS, MAX_HTTP_TIMEOUT_SECONDS = 2, 30
"""The limits are equal to those of the stack parameter HttpTimeoutSeconds."""


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The listen address, and the files for TLS and client certificates."""

    host: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    client_ca: Path | None
    allow_list: Path | None
    allowed_hosts: tuple[str, ...]

    @property
    def host_names(self) -> frozenset[str]:
        """The host names that callers may use, in lower case."""
        return frozenset(name.lower().removesuffix(".") for name in (self.host, *self.allowed_hosts))

    def check(self) -> None:
        """Raise UsageError for an incomplete combination of options."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise click.UsageError("give both --tls-cert and --tls-key, or neither")
        if (self.client_ca is None) != (self.allow_list is None):
            raise click.UsageError("give both --client-ca and --allow-list, or neither")
        if self.client_ca is not None and self.tls_cert is None:
            raise click.UsageError("--client-ca needs --tls-cert and --tls-key")


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The options of --store dynamodb."""

    is_dynamodb: bool
    cache_table: str | None
    ledger_table: str | None
    region: str | None
    endpoint_url: str | None

    def check(self, *, live: bool) -> None:
        """Raise UsageError for options without an effect, and for a dump."""
        if self.is_dynamodb and not live:
            raise click.UsageError("--store dynamodb needs --kubeconfig: bindings on a dump end with the process")
        if not self.is_dynamodb and (self.cache_table or self.ledger_table or self.region or self.endpoint_url):
            raise click.UsageError("--cache-table, --ledger-table, --region and --endpoint-url need --store dynamodb")

    def store(self) -> DynamoDBStore | None:
        """Return the tables in DynamoDB; None for a store in memory."""
        if not self.is_dynamodb:
            return None
        return DynamoDBStore(
            self.cache_table or CACHE_TABLE, self.ledger_table or LEDGER_TABLE, self.region, self.endpoint_url
        )

    def warnings(self, config: Path | None) -> Iterator[str]:
        """Warn that servers with shared tables do not apply changes of the configuration's file."""
        if self.is_dynamodb and config is not None:
            table = self.cache_table or CACHE_TABLE
            yield (
                f"{config} is in use only until a document is applied to the shared tables, and a change of it has no "
                f"effect; apply it: berth config apply FILE --cache-table {table}"
            )


def http_timeout_of(text: str) -> float:
    """Return the value of --http-timeout in seconds. Raises UsageError."""
    seconds = parse_duration(text)
    if seconds is None or not MIN_HTTP_TIMEOUT_SECONDS <= seconds <= MAX_HTTP_TIMEOUT_SECONDS:
        raise click.UsageError(
            f"--http-timeout {text} is no duration from {MIN_HTTP_TIMEOUT_SECONDS}s to {MAX_HTTP_TIMEOUT_SECONDS}s"
        )
    return seconds
