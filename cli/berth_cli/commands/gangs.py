"""`berth gangs list`: lists gangs and the reasons why they wait."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from berth_cli.sources.state import StateSource, state_options
from berth_cli.terminal.output import Format, echo_table, output_option, render

if TYPE_CHECKING:
    from berth_cli.sources.stack import OpenTables

LIST_EPILOG = """\b
Examples:
  berth gangs list --stack berth-production
  berth gangs list --url http://127.0.0.1:8080/scheduler
  berth gangs list --stack berth-production -o json | jq '.gangs[] | select(.state == "degraded")'
"""


@click.group()
def gangs() -> None:
    """List gangs: pods that are placed all or none."""


@gangs.command("list", epilog=LIST_EPILOG)
@state_options
@output_option()
def list_(source: StateSource, output: str) -> None:
    """List the gangs: state, members, priority, age, and the reason why each one waits.

    `berth explain --gang` shows the members of one gang. The command reads the gangs in the ledger table, and the whole
    node cache for gangs that are not in bind; with --url the `berth serve` process reads them. Exit status: 0 success;
    1 the table or server cannot be read; 2 usage error.
    """
    from berth_cli.ledger.gangs import HEADER, cells

    content = source.document("gangs", _of_tables)
    if output != Format.TABLE:
        click.echo(render(content, output))
    elif content["gangs"]:
        echo_table(HEADER, (cells(each, time.time()) for each in content["gangs"]))
    else:
        click.echo("no gangs")


def _of_tables(opened: OpenTables) -> Mapping[str, Any]:
    """Return all gangs as a document. It includes gangs that are not in bind only if the cache table is known."""
    from berth_cli.ledger.claims import NotRead, claim_sources
    from berth_cli.ledger.gangs import Gangs, document, statuses_in

    items, domain, now = list(opened.gangs.gangs()), opened.gangs.domain(), time.time()
    statuses = statuses_in(claim_sources(opened.client, opened.cache_table), items, now)
    if isinstance(statuses, NotRead):
        click.echo(click.style(f"only gangs that are or were in bind: {statuses.cause}", fg="yellow"), err=True)
    return document(Gangs(items, domain, statuses), now)
