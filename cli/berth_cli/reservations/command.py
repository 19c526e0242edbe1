"""The commands of `berth reservations`. They send requests to the watcher, which alone changes the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from berth_cli.options import open_table, require_key_pair, table_options, tls_options
from berth_cli.output import Format, output_option, render

if TYPE_CHECKING:
    from berth.reservations.ledger.entry import NodeLedger
    from berth.reservations.ledger.table import LedgerTable
    from berth_cli.reservations.report import Claims, NotCompared

OUTPUT = "LedgerTableName"
POLL_SECONDS = 1.0

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

LIST_EPILOG = """\b
Examples:
  berth reservations list --stack berth-production
  berth reservations list --table berth-LedgerTable-1A2B -o json | jq '.nodes[] | select(.owed != {})'
  berth reservations list --url http://127.0.0.1:8080/scheduler
  berth reservations list --kubeconfig ~/.kube/config --config berth.yaml
  berth reservations list --stack berth-production -o json | jq '.reservations[] | select(.diverged)'
"""
RELEASE_EPILOG = """\b
Examples:
  berth reservations release ml/train-0 --stack berth-production
  berth reservations release ml/train-0 --stack berth-production -o json | jq -r .result
"""
REBUILD_EPILOG = """\b
Examples:
  berth reservations rebuild --stack berth-production
  berth reservations rebuild --table berth-LedgerTable-1A2B --yes --wait 300
"""


@click.group()
def reservations() -> None:
    """List, release and rebuild reservations of counted resources."""


@reservations.command("list", epilog=LIST_EPILOG)
@table_options(OUTPUT, "ledger")
@click.option("--cache-table", help="With --table: name of the cache table, to compare reservations with their pods.")
@click.option("--kubeconfig", type=_FILE, help="Live cluster, instead of --stack: what its pods hold, with --config.")
@click.option("--config", type=_FILE, help="With --kubeconfig: the BerthConfiguration that says what is counted.")
@click.option("--url", help="urlPrefix of a berth serve, such as http://127.0.0.1:8080/scheduler, instead of --stack.")
@tls_options("--url")
@output_option()
def list_(
    stack: str | None,
    table: str | None,
    region: str | None,
    cache_table: str | None,
    kubeconfig: Path | None,
    config: Path | None,
    url: str | None,
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
    output: str,
) -> None:
    """List the reservations: pod, node, amount and reason; and what the pod claims, if that differs.

    Reads the whole ledger table, and the node cache for what pods claim; with --url a berth serve does. With
    --kubeconfig no ledger is read: the list has what a berth serve finds on the nodes when it starts, without binds in
    progress. Exit status: 0 success, 1 table, server or cluster cannot be read, 2 usage error.
    """
    from berth_cli.reservations.report import node_warnings, rows_of, table_lines

    _require_one_source(has_table=bool(stack or table), kubeconfig=kubeconfig, config=config, url=url)
    require_key_pair(certificate, key)
    if url:
        content = _of_server(url, certificate, key, ca)
    elif kubeconfig and config:
        content = _of_cluster(kubeconfig, config)
    else:
        content = _of_table(stack, table, region, cache_table)
    if output != Format.TABLE:
        click.echo(render(content, output))
        return
    found, now = rows_of(content), time.time()
    if not found:
        click.echo(f"no reservations on {len(content['nodes'])} nodes")
    for number, line in enumerate(table_lines(found, now) if found else ()):
        click.echo(click.style(line, bold=number == 0))
    for note in node_warnings(content):
        click.echo(click.style(note, fg="yellow"))


def _require_one_source(*, has_table: bool, kubeconfig: Path | None, config: Path | None, url: str | None) -> None:
    if url and (has_table or kubeconfig):
        raise click.UsageError("--url is for a berth serve: give it without --stack, --table and --kubeconfig")
    if kubeconfig and has_table:
        raise click.UsageError("--kubeconfig reads no ledger: give it without --stack and --table")
    if (kubeconfig is None) != (config is None):
        raise click.UsageError("--kubeconfig and --config go together: the document says what is counted")


def _of_server(url: str, certificate: Path | None, key: Path | None, ca: Path | None) -> Mapping[str, Any]:
    from berth_cli.options import TLSFiles
    from berth_cli.sources.server import ServerUnavailable, running_document

    try:
        return running_document(url, TLSFiles(certificate, key, ca), "reservations")
    except ServerUnavailable as error:
        raise click.ClickException(str(error)) from error


def _of_cluster(kubeconfig: Path, config: Path) -> Mapping[str, Any]:
    from berth.nodecache.feed.cluster import ClusterUnavailable
    from berth_cli.config.document import load_configuration
    from berth_cli.reservations.cluster import reservations_in
    from berth_cli.reservations.report import document, rows

    configuration = load_configuration(config, None)
    if not configuration.counting.counts:
        raise click.UsageError(f"{config} counts nothing: it has no managedResources")
    try:
        found = reservations_in(kubeconfig, configuration, time.time)
    except ClusterUnavailable as error:
        raise click.ClickException(str(error)) from error
    holder = f"{found.holder} counts" if found.holder else "nobody counts: the Lease berth-ledger has no holder"
    click.echo(click.style(f"from the pods, without binds in progress; {holder}", fg="yellow"), err=True)
    return document(rows(found.ledgers, [], time.time()), found.ledgers, compared=False)


def _of_table(stack: str | None, table: str | None, region: str | None, cache_table: str | None) -> Mapping[str, Any]:
    from berth_cli.reservations.report import NO_CLAIMS, NotCompared, document, rows

    if cache_table and not table:
        raise click.UsageError("--cache-table goes with --table; --stack names both tables")
    with _open_ledger(stack, table, region) as ledger:
        ledgers, open_reservations = ledger.nodes(), ledger.open_reservations()
        claims = _read_claims(stack, cache_table, region, ledgers)
    found = rows(ledgers, open_reservations, time.time(), NO_CLAIMS if isinstance(claims, NotCompared) else claims)
    if isinstance(claims, NotCompared):
        click.echo(click.style(f"not compared with the pods: {claims.cause}", fg="yellow"), err=True)
    return document(found, ledgers, compared=not isinstance(claims, NotCompared))


@reservations.command(epilog=RELEASE_EPILOG)
@click.argument("pod", metavar="NAMESPACE/POD")
@table_options(OUTPUT, "ledger")
@click.option("--wait", default=30.0, show_default=True, help="Seconds to wait for the watcher.")
@output_option()
def release(pod: str, stack: str | None, table: str | None, region: str | None, wait: float, output: str) -> None:
    """Ask the watcher to review the reservations of a pod now, instead of at their expiry.

    Reservations of a running pod are kept. Exit status: 0 released, 1 still reserved or no reservation, 2 usage error.
    """
    from berth_cli.reservations.release import (
        AwaitingWatcher,
        NoReservation,
        Released,
        StillReserved,
        release_result,
        request_release,
        result_document,
    )

    namespace, _, name = pod.partition("/")
    if not namespace or not name or "/" in name:
        raise click.BadParameter("use the form NAMESPACE/POD", param_hint="POD")
    with _open_ledger(stack, table, region) as ledger:
        requested = request_release(ledger, namespace, name)
        deadline = time.monotonic() + wait
        outcome = release_result(ledger, requested)
        while isinstance(outcome, AwaitingWatcher) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            outcome = release_result(ledger, requested)
    if output != Format.TABLE and not isinstance(outcome, NoReservation):
        click.echo(render(result_document(pod, requested, outcome), output))
    match outcome:
        case NoReservation():
            raise click.ClickException(f"no reservation for {pod}; list them with: berth reservations list")
        case Released(summary=summary):
            if output == Format.TABLE:
                click.echo(f"released: {summary}")
        case StillReserved(reason=reason) | AwaitingWatcher(reason=reason):
            raise click.ClickException(reason)


@reservations.command(epilog=REBUILD_EPILOG)
@table_options(OUTPUT, "ledger")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--wait", default=180.0, show_default=True, help="Seconds to wait for the end; 0 does not wait.")
@output_option()
def rebuild(stack: str | None, table: str | None, region: str | None, yes: bool, wait: float, output: str) -> None:
    """Ask the watcher to rebuild the ledger from the pods on the nodes, for example after a restore from a backup.

    Until the end, which takes about a minute, no pod that requests counted resources is bound. Running pods stay. Exit
    status: 0 rebuilt, 1 failed or not finished in time, 2 usage error.
    """
    from berth.reservations.ledger.table import Marker, MarkerState

    # What happens meanwhile is no part of the result.
    progress = partial(click.echo, err=output != Format.TABLE)
    with _open_ledger(stack, table, region) as ledger:
        seen = ledger.marker()
        if seen is None:
            progress("the table is new: the watcher builds its ledgers without a request")
        elif seen.state is MarkerState.REBUILDING:
            progress("a rebuild is already in progress")
        else:
            if not yes:
                click.confirm(
                    "Until the rebuild ends, no pod that requests counted resources is bound. Continue?",
                    abort=True,
                    err=output != Format.TABLE,
                )
            requested = Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)
            if not ledger.put_marker(requested, seen):
                raise click.ClickException(
                    "another rebuild was requested at the same time; see: berth reservations list"
                )
            progress("requested a rebuild from the watcher")
        if wait > 0:
            _wait_until_ready(ledger, wait, progress)
            nodes = [each.node for each in ledger.nodes()]
            progress(f"the ledger is ready: {len(nodes)} nodes")
    if output != Format.TABLE:
        result = {"result": "rebuilt", "nodes": nodes} if wait > 0 else {"result": "requested"}
        click.echo(render(result, output))


def _wait_until_ready(ledger: LedgerTable, wait: float, progress: Callable[[str], None]) -> None:
    from berth.reservations.ledger.table import MarkerState

    deadline, printed = time.monotonic() + wait, ""
    while (marker := ledger.marker()) is None or marker.state is not MarkerState.READY:
        if time.monotonic() >= deadline:
            raise click.ClickException(
                f"not finished after {wait:g} s; is the watcher running with WatcherMode continuous?"
            )
        line = _progress(ledger)
        if line != printed:
            progress(line)
            printed = line
        time.sleep(POLL_SECONDS)


def _progress(ledger: LedgerTable) -> str:
    from berth.reservations.ledger.table import TableUnavailable

    try:
        ledgers = ledger.nodes()
    except TableUnavailable:
        # An unreadable item may be the reason for the rebuild.
        return "some ledgers cannot be read yet"
    return f"{sum(each.avail is not None for each in ledgers)} of {len(ledgers)} nodes accept reservations"


def _read_claims(
    stack: str | None, cache_table: str | None, region: str | None, ledgers: Sequence[NodeLedger]
) -> Claims | NotCompared:
    from berth_cli.reservations.report import NotCompared

    if not stack and not cache_table:
        return NotCompared("give --cache-table too")
    import boto3

    from berth_cli.deployed_stack import CACHE_TABLE_NAME, describe
    from berth_cli.reservations.claims import claim_sources, diverging_claims

    name = cache_table or describe(stack or "", region).output(CACHE_TABLE_NAME)
    return diverging_claims(claim_sources(boto3.client("dynamodb", region_name=region), name), ledgers)


@contextmanager
def _open_ledger(stack: str | None, table: str | None, region: str | None) -> Iterator[LedgerTable]:
    with open_table(stack, table, region, OUTPUT) as (client, name):
        # Imported here: a usage error must not wait for it.
        from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable

        yield DynamoDBLedgerTable(client, name)
