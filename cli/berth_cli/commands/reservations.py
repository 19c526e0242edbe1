"""`berth reservations`: lists and rebuilds reservations. Only the watcher changes the ledger: the command requests a
rebuild."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from berth_cli.sources.state import StateSource, state_options
from berth_cli.sources.tables import TableNames, tables_options
from berth_cli.terminal.output import Format, echo_table, output_option, render

if TYPE_CHECKING:
    from berth.ledger.nodes.table import LedgerTable
    from berth_cli.sources.stack import OpenTables

POLL_SECONDS = 1.0

LIST_EPILOG = """\b
Examples:
  berth reservations list --stack berth-production
  berth reservations list --ledger-table berth-LedgerTable-1A2B -o json | jq '.nodes[] | select(.owed != {})'
  berth reservations list --url http://127.0.0.1:8080/scheduler
  berth reservations list --stack berth-production -o json | jq '.reservations[] | select(.diverged)'
"""
REBUILD_EPILOG = """\b
Examples:
  berth reservations rebuild --stack berth-production
  berth reservations rebuild --ledger-table berth-LedgerTable-1A2B --yes --wait 300
"""


@click.group()
def reservations() -> None:
    """List and rebuild reservations of counted resources."""


@reservations.command("list", epilog=LIST_EPILOG)
@state_options
@output_option()
def list_(source: StateSource, output: str) -> None:
    """List the reservations with their pod, node or floating pool, amount and reason, and with the pod's claim if it
    differs. Then list the floating pools.

    The command reads the whole ledger table, and the node cache for the claims of pods; with --url the `berth serve`
    process reads them. Exit status: 0 success; 1 the table or server cannot be read; 2 usage error.
    """
    from berth_cli.ledger.reservations import HEADER, POOL_HEADER, cells, warnings

    content = source.document("reservations", _of_tables)
    if output != Format.TABLE:
        click.echo(render(content, output))
        return
    if content["reservations"]:
        echo_table(HEADER, (cells(each, time.time()) for each in content["reservations"]))
    else:
        click.echo(f"no reservations on {len(content['nodes'])} nodes")
    if content.get("pools"):
        click.echo()
        echo_table(POOL_HEADER, (list(map(str, pool.values())) for pool in content["pools"]))
    for note in warnings(content):
        click.echo(click.style(note, fg="yellow"))


def _of_tables(opened: OpenTables) -> Mapping[str, Any]:
    """Return the ledger as a document. If the cache table is known, compare it with the pods in the node cache."""
    from berth_cli.ledger.claims import NotRead, claim_sources, diverging_claims
    from berth_cli.ledger.reservations import document

    ledgers, open_reservations = opened.ledger.nodes(), opened.ledger.open_reservations()
    claims = diverging_claims(claim_sources(opened.client, opened.cache_table), ledgers)
    if isinstance(claims, NotRead):
        click.echo(click.style(f"not compared with the pods: {claims.cause}", fg="yellow"), err=True)
    return document(ledgers, open_reservations, time.time(), claims)


@reservations.command(epilog=REBUILD_EPILOG)
@tables_options
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--wait", default=180.0, show_default=True, help="Seconds to wait for the end; 0 does not wait.")
def rebuild(tables: TableNames, yes: bool, wait: float) -> None:
    """Ask the watcher to rebuild the ledger from the pods on the nodes, for example after a restore from a backup.

    Until the rebuild ends, after about a minute, pods that request counted resources are not bound. Running pods stay.
    Exit status: 0 rebuilt, 1 failed or not finished in time, 2 usage error.
    """
    from berth.ledger.nodes.table import Marker, MarkerState
    from berth.scheduling.managed_resources.pools import is_floating
    from berth_cli.sources.stack import open_tables

    tables.require("ledger")
    with open_tables(tables) as opened:
        ledger = opened.ledger
        seen = ledger.marker()
        if seen is None:
            click.echo("the table is new: the watcher builds its ledgers without a request")
        elif seen.state is MarkerState.REBUILDING:
            click.echo("a rebuild is already in progress")
        else:
            if not yes:
                click.confirm(
                    "Until the rebuild ends, no pod that requests counted resources is bound. Continue?", abort=True
                )
            requested = Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)
            if not ledger.put_marker(requested, seen):
                raise click.ClickException(
                    "another rebuild was requested at the same time; see: berth reservations list"
                )
            click.echo("requested a rebuild from the watcher")
        if wait > 0:
            _wait_until_ready(ledger, wait)
            click.echo(f"the ledger is ready: {sum(not is_floating(each.owner) for each in ledger.nodes())} nodes")


def _wait_until_ready(ledger: LedgerTable, wait: float) -> None:
    from rich.console import Console

    from berth.ledger.nodes.table import MarkerState

    deadline = time.monotonic() + wait
    with Console(stderr=True).status("waiting until the watcher has rebuilt the ledger"):
        while (marker := ledger.marker()) is None or marker.state is not MarkerState.READY:
            if time.monotonic() >= deadline:
                raise click.ClickException(
                    f"not finished after {wait:g} s; is the watcher running with WatcherMode continuous?"
                )
            time.sleep(POLL_SECONDS)
