"""The commands of `berth reservations`. Whatever is given back, the watcher gives back: they ask it to, and tell."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import click
import orjson

from berth_cli.stack_options import refuse_unless_one, table_options

if TYPE_CHECKING:
    from berth.reservations.ledger.table import LedgerTable

OUTPUT = "LedgerTableName"
POLL_SECONDS = 1.0

LIST_EPILOG = """\b
Examples:
  berth reservations list --stack berth-production
  berth reservations list --table berth-LedgerTable-1A2B -o json | jq '.nodes[] | select(.owed != {})'
"""
RELEASE_EPILOG = """\b
Examples:
  berth reservations release ml/train-0 --stack berth-production
"""
REBUILD_EPILOG = """\b
Examples:
  berth reservations rebuild --stack berth-production
  berth reservations rebuild --table berth-LedgerTable-1A2B --yes --wait 300
"""


@click.group()
def reservations() -> None:
    """See what counted resources are held by, have a reservation looked after, or have the ledger made anew."""


@reservations.command("list", epilog=LIST_EPILOG)
@table_options(OUTPUT, "ledger")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def list_(stack: str | None, table: str | None, region: str | None, output: str) -> None:
    """Say which pods hold what of which node, and why.

    It reads the whole table. Exit status: 0, or 1 where the table cannot be read.
    """
    from berth_cli.reservations.report import document, lines, notes, rows

    with _ledger(stack, table, region) as ledger:
        ledgers, announced = ledger.nodes(), ledger.open_reservations()
    now = time.time()
    found = rows(ledgers, announced, now)
    if output == "json":
        click.echo(orjson.dumps(document(found, ledgers), option=orjson.OPT_INDENT_2))
        return
    if not found:
        click.echo(f"nothing is held on {len(ledgers)} nodes")
    for number, line in enumerate(lines(found, now) if found else ()):
        click.echo(click.style(line, bold=number == 0))
    for note in notes(ledgers):
        click.echo(click.style(note, fg="yellow"))


@reservations.command(epilog=RELEASE_EPILOG)
@click.argument("pod", metavar="NAMESPACE/POD")
@table_options(OUTPUT, "ledger")
@click.option("--wait", default=30.0, show_default=True, help="Seconds to wait for the watcher.")
def release(pod: str, stack: str | None, table: str | None, region: str | None, wait: float) -> None:
    """Have the watcher look after what is held for a pod now, and not only when its time is over.

    Nothing is taken from a pod that runs. Exit status: 0 when it has been given back, 1 when it is held, and why,
    or when nothing was held.
    """
    from berth_cli.reservations.release import Held, NothingHeld, NotReleased, Released, request, result

    namespace, _, name = pod.partition("/")
    if not namespace or not name or "/" in name:
        raise click.BadParameter("give the pod as NAMESPACE/POD", param_hint="POD")
    with _ledger(stack, table, region) as ledger:
        asked = request(ledger, namespace, name)
        until = time.monotonic() + wait
        done = result(ledger, asked)
        while isinstance(done, Held) and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
            done = result(ledger, asked)
    match done:
        case NothingHeld():
            raise click.ClickException(f"nothing is held for {pod}")
        case Released(told=told):
            click.echo(f"released: {told}")
        case NotReleased(why=why) | Held(why=why):
            raise click.ClickException(why)


@reservations.command(epilog=REBUILD_EPILOG)
@table_options(OUTPUT, "ledger")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--wait", default=180.0, show_default=True, help="Seconds to wait for the end; 0 does not.")
def rebuild(stack: str | None, table: str | None, region: str | None, yes: bool, wait: float) -> None:
    """Have the watcher make the ledger anew from the pods on the nodes: after the table was restored from a backup.

    Pods that ask for counted resources are not bound meanwhile; those that run stay. It takes about a minute. Exit
    status: 0 when it is done, 1 when it is not, and why.
    """
    from berth.reservations.ledger.table import Marker, MarkerState

    with _ledger(stack, table, region) as ledger:
        seen = ledger.marker()
        if seen is None:
            click.echo("the table is new: the watcher makes its ledgers without being asked")
        elif seen.state is MarkerState.REBUILDING:
            click.echo("it is being rebuilt already")
        else:
            if not yes:
                click.confirm("Pods that ask for counted resources are not bound until it is done. Go on?", abort=True)
            asked = Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)
            if not ledger.put_marker(asked, seen):
                raise click.ClickException("somebody else has asked for a rebuild this moment; see list")
            click.echo("the watcher was asked to rebuild the ledger")
        if wait > 0:
            _follow(ledger, wait)


def _follow(ledger: LedgerTable, wait: float) -> None:
    from berth.reservations.ledger.table import MarkerState

    until, told = time.monotonic() + wait, ""
    while (marker := ledger.marker()) is None or marker.state is not MarkerState.READY:
        if time.monotonic() >= until:
            raise click.ClickException(
                f"after {wait:g} s it is not done; does the watcher run, with WatcherMode continuous?"
            )
        line = _progress(ledger)
        if line != told:
            click.echo(line)
            told = line
        time.sleep(POLL_SECONDS)
    click.echo(f"the ledger is ready: {len(ledger.nodes())} nodes")


def _progress(ledger: LedgerTable) -> str:
    from berth.reservations.ledger.table import TableUnavailable

    try:
        ledgers = ledger.nodes()
    except TableUnavailable:
        # An item that nobody can read may be why the ledger is made anew.
        return "not all ledgers can be read yet"
    return f"{sum(each.avail is not None for each in ledgers)} of {len(ledgers)} nodes can be reserved on"


@contextmanager
def _ledger(stack: str | None, table: str | None, region: str | None) -> Iterator[LedgerTable]:
    refuse_unless_one(stack, table)
    # Only now: the AWS SDK takes longer to import than a wrong option to be found.
    import boto3
    from botocore.exceptions import BotoCoreError

    from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
    from berth.reservations.ledger.table import TableUnavailable
    from berth_cli.deployed_stack import StackUnavailable, describe

    try:
        name = table or describe(stack or "", region).output(OUTPUT)
        yield DynamoDBLedgerTable(boto3.client("dynamodb", region_name=region), name)
    except (TableUnavailable, StackUnavailable) as error:
        raise click.ClickException(str(error)) from error
    except BotoCoreError as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error
