"""`berth gangs`: list and describe gangs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from berth_cli.sources.where import StateSource, state_options
from berth_cli.terminal.output import Format, echo_table, output_option, render

if TYPE_CHECKING:
    from berth.scheduling.gangs.gang import GangKey
    from berth_cli.sources.stack import OpenTables

LIST_EPILOG = """\b
Examples:
  berth gangs list --stack berth-production
  berth gangs list --url http://127.0.0.1:8080/scheduler
  berth gangs list --stack berth-production -o json | jq '.gangs[] | select(.state == "degraded")'
"""
DESCRIBE_EPILOG = """\b
Examples:
  berth gangs describe ml/train --stack berth-production
  berth gangs describe ml/train --stack berth-production -o json | jq -r '.places[] | select(.state == "in-bind").node'
"""


@click.group()
def gangs() -> None:
    """List and describe gangs: pods that are placed all or none."""


@gangs.command("list", epilog=LIST_EPILOG)
@state_options
@output_option()
def list_(source: StateSource, output: str) -> None:
    """List the gangs: state, members, priority, age, and what each one waits for.

    Reads the gangs in the ledger table, and the whole node cache for those that are not in bind; with --url a berth
    serve does. Exit status: 0 success, 1 table or server cannot be read, 2 usage error.
    """
    from berth_cli.ledger.gangs import HEADER, cells

    content = source.document("gangs", _of_tables)
    if output != Format.TABLE:
        click.echo(render(content, output))
    elif content["gangs"]:
        echo_table(HEADER, (cells(each, time.time()) for each in content["gangs"]))
    else:
        click.echo("no gangs")


@gangs.command(epilog=DESCRIBE_EPILOG)
@click.argument("gang", metavar="NAMESPACE/GANG")
@state_options
@output_option()
def describe(gang: str, source: StateSource, output: str) -> None:
    """Show one gang with its members: where each one is, or where it would go, and what the gang waits for.

    Exit status: 0 success, 1 no such gang, or nothing can be read, 2 usage error.
    """
    from berth_cli.ledger.gangs import MEMBER_HEADER, described, member_cells

    key = _key(gang)
    content = source.document("gangs", _of_tables)
    found = next((each for each in content["gangs"] if each["gang"] == str(key)), None)
    if found is None:
        raise click.ClickException(f"no gang {key}; list them with: berth gangs list")
    if output != Format.TABLE:
        click.echo(render(found, output))
        return
    for line in described(found, time.time()):
        click.echo(line)
    if found["places"]:
        click.echo()
        echo_table(MEMBER_HEADER, map(member_cells, found["places"]))


def _key(text: str) -> GangKey:
    from berth.scheduling.gangs.gang import GangKey

    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise click.BadParameter("use the form NAMESPACE/GANG", param_hint="GANG")
    return GangKey(namespace, name)


def _of_tables(opened: OpenTables) -> Mapping[str, Any]:
    """Return the document of the gangs; those that are not in bind only if the cache table is known."""
    from berth_cli.ledger.claims import claim_sources
    from berth_cli.ledger.gangs import Gangs, NotRead, document, statuses_in

    items, domain, now = list(opened.gangs.gangs()), opened.gangs.domain(), time.time()
    if opened.cache_table:
        statuses = statuses_in(claim_sources(opened.client, opened.cache_table), items, now)
    else:
        statuses = NotRead("give --cache-table too")
    if isinstance(statuses, NotRead):
        click.echo(click.style(f"only gangs that are or were in bind: {statuses.cause}", fg="yellow"), err=True)
    return document(Gangs(items, domain, statuses), now)
