"""The options of `berth serve`: checks their combinations, and describes the store that they name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from botocore.config import Config

from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables, dynamodb_tables
from berth_cli.terminal.options import parse_duration

CACHE_TABLE = "berth-cache"
LEDGER_TABLE = "berth-ledger"


@dataclass(frozen=True, slots=True)
class DynamoDBStore:
    """Existing DynamoDB tables. `region`, `endpoint_url`: by default from the environment."""

    cache_table: str = CACHE_TABLE
    ledger_table: str = LEDGER_TABLE
    region: str | None = None
    endpoint_url: str | None = None

    @property
    def description(self) -> str:
        """A text about the store, and its effect on a second server."""
        where = f" at {self.endpoint_url}" if self.endpoint_url else ""
        return (
            f"the DynamoDB tables {self.cache_table} and {self.ledger_table}{where}. "
            "Servers with the same tables share node cache and ledger"
        )

    def open(self, settings: PolicySettings, calls: Config) -> Tables:
        """Open the tables as berth.runtime.tables does."""
        return dynamodb_tables(settings, calls, region=self.region, endpoint_url=self.endpoint_url)


MIN_HTTP_TIMEOUT_SECONDS, MAX_HTTP_TIMEOUT_SECONDS = 2, 30
"""The limits of --http-timeout in seconds, which equal the limits of the stack parameter HttpTimeoutSeconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The values of the command-line options."""

    cluster: Path | None
    kubeconfig: Path | None
    binder_kubeconfig: Path | None
    profile: str | None
    config: Path | None
    store_kind: str
    cache_table: str | None
    ledger_table: str | None
    region: str | None
    endpoint_url: str | None
    host: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    client_ca: Path | None
    allow_list: Path | None
    allowed_hosts: tuple[str, ...]
    decisions_file: Path | None
    record: Path | None
    http_timeout: float
    scheduler_names: tuple[str, ...]
    console: bool
    console_port: int
    verbose: bool

    @property
    def is_dynamodb(self) -> bool:
        """Whether the store is in DynamoDB."""
        return self.store_kind == "dynamodb"

    @property
    def host_names(self) -> frozenset[str]:
        """The host names that callers may use, in lower case."""
        return frozenset(name.lower().removesuffix(".") for name in (self.host, *self.allowed_hosts))

    def check(self) -> None:
        """Raise UsageError for an incomplete combination of options, and for options without an effect."""
        is_live, binder = self.kubeconfig is not None, self.binder_kubeconfig
        names_tables = any((self.cache_table, self.ledger_table, self.region, self.endpoint_url))
        for is_wrong, message in (
            (
                is_live == (self.cluster is not None),
                "give either --cluster FILE (a dump) or --kubeconfig FILE (a live cluster)",
            ),
            (
                binder is not None and not (is_live and binder.is_file()),
                "--binder-kubeconfig needs an existing file and --kubeconfig",
            ),
            ((self.tls_cert is None) != (self.tls_key is None), "give both --tls-cert and --tls-key, or neither"),
            (
                (self.client_ca is None) != (self.allow_list is None),
                "give both --client-ca and --allow-list, or neither",
            ),
            (
                self.client_ca is not None and self.tls_cert is None,
                "--client-ca needs --tls-cert and --tls-key",
            ),
            (
                self.is_dynamodb and not is_live,
                "--store dynamodb needs --kubeconfig: bindings on a dump end with the process",
            ),
            (
                not self.is_dynamodb and names_tables,
                "--cache-table, --ledger-table, --region and --endpoint-url need --store dynamodb",
            ),
        ):
            if is_wrong:
                raise click.UsageError(message)

    def store(self) -> DynamoDBStore | None:
        """Return the tables in DynamoDB; None for a store in memory."""
        if not self.is_dynamodb:
            return None
        return DynamoDBStore(
            self.cache_table or CACHE_TABLE, self.ledger_table or LEDGER_TABLE, self.region, self.endpoint_url
        )

    def store_warnings(self) -> Iterator[str]:
        """Warn that servers with shared tables do not apply changes of the configuration's file."""
        if self.is_dynamodb and self.config is not None:
            table = self.cache_table or CACHE_TABLE
            yield (
                f"{self.config} is in use only until a document is applied to the shared tables, and a change of it "
                f"has no effect; apply it: berth config apply FILE --cache-table {table}"
            )


def http_timeout_of(text: str) -> float:
    """Return the value of --http-timeout in seconds. Raises UsageError."""
    seconds = parse_duration(text)
    if seconds is None or not MIN_HTTP_TIMEOUT_SECONDS <= seconds <= MAX_HTTP_TIMEOUT_SECONDS:
        raise click.UsageError(
            f"--http-timeout {text} is no duration from {MIN_HTTP_TIMEOUT_SECONDS}s to {MAX_HTTP_TIMEOUT_SECONDS}s"
        )
    return seconds
