"""The commands of `berth gangs`. Only `release` writes, and only what it has shown before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from berth_cli.options import open_table, require_key_pair, table_options, tls_options
from berth_cli.output import Format, output_option, render

if TYPE_CHECKING:
    from berth.gangs.table import GangTable
    from berth.scheduling.gangs.gang import GangKey
    from berth_cli.gangs.release import ReleaseOutcome
    from berth_cli.options import TLSFiles

F = TypeVar("F", bound=Callable[..., Any])

OUTPUT = "LedgerTableName"

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

LIST_EPILOG = """\b
Examples:
  berth gangs list --stack berth-production
  berth gangs list --url http://127.0.0.1:8080/scheduler
  berth gangs list --kubeconfig ~/.kube/config --config berth.yaml
  berth gangs list --stack berth-production -o json | jq '.gangs[] | select(.state == "degraded")'
"""
DESCRIBE_EPILOG = """\b
Examples:
  berth gangs describe ml/train --stack berth-production
  berth gangs describe ml/train --stack berth-production -o json | jq -r '.places[] | select(.state == "in-bind").node'
"""
RELEASE_EPILOG = """\b
Examples:
  berth gangs release ml/train --stack berth-production
  berth gangs release ml/train --url http://127.0.0.1:8080/scheduler
  berth gangs release ml/train --table berth-LedgerTable-1A2B --yes -o json
"""


@dataclass(frozen=True, slots=True)
class Source:
    """Where gangs are read from: one of stack or table, url, and kubeconfig."""

    stack: str | None
    table: str | None
    region: str | None
    cache_table: str | None
    kubeconfig: Path | None
    config: Path | None
    url: str | None
    certificate: Path | None
    key: Path | None
    ca: Path | None

    @property
    def tls_files(self) -> TLSFiles:
        """Of the calls to url."""
        from berth_cli.options import TLSFiles

        return TLSFiles(self.certificate, self.key, self.ca)


Confirm = Callable[[int], None]
"""Asks whether a gang with so many members in bind is to be released. Ends the command if not."""


def source_options(command: F) -> F:
    """The options that name a Source."""
    for decorate in (
        tls_options("--url"),
        click.option("--url", help="urlPrefix of a berth serve, instead of --stack."),
        click.option("--config", type=_FILE, help="With --kubeconfig: the BerthConfiguration that enables gangs."),
        click.option("--kubeconfig", type=_FILE, help="Live cluster, instead of --stack: without gangs in bind."),
        click.option("--cache-table", help="With --table: name of the cache table, for gangs that are not in bind."),
        table_options(OUTPUT, "ledger"),
    ):
        command = decorate(command)
    return command


@click.group()
def gangs() -> None:
    """List, describe and release gangs: pods that are placed all or none."""


@gangs.command("list", epilog=LIST_EPILOG)
@source_options
@output_option()
def list_(output: str, **options: Any) -> None:
    """List the gangs: state, members, priority, age, and what each one waits for.

    Reads the gangs in the ledger table, and the whole node cache for those that are not in bind; with --url a berth
    serve does. With --kubeconfig no table is read, so no gang is shown as in bind. Exit status: 0 success, 1 table,
    server or cluster cannot be read, 2 usage error.
    """
    from berth_cli.gangs.report import table_lines

    content = _read(Source(**options))
    if output != Format.TABLE:
        click.echo(render(content, output))
    elif content["gangs"]:
        for number, line in enumerate(table_lines(content["gangs"], time.time())):
            click.echo(click.style(line, bold=number == 0))
    else:
        click.echo("no gangs")


@gangs.command(epilog=DESCRIBE_EPILOG)
@click.argument("gang", metavar="NAMESPACE/GANG")
@source_options
@output_option()
def describe(gang: str, output: str, **options: Any) -> None:
    """Show one gang with its members: where each one is, or where it would go, and what the gang waits for.

    Exit status: 0 success, 1 no such gang, or nothing can be read, 2 usage error.
    """
    from berth_cli.gangs.report import described

    key = _key(gang)
    content = _read(Source(**options))
    found = next((each for each in content["gangs"] if each["gang"] == str(key)), None)
    if found is None:
        raise click.ClickException(f"no gang {key}; list them with: berth gangs list")
    if output != Format.TABLE:
        click.echo(render(found, output))
        return
    for line in described(found, time.time()):
        click.echo(line)


@gangs.command(epilog=RELEASE_EPILOG)
@click.argument("gang", metavar="NAMESPACE/GANG")
@table_options(OUTPUT, "ledger")
@click.option("--url", help="urlPrefix of a berth serve, instead of --stack.")
@tls_options("--url")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@output_option()
def release(gang: str, yes: bool, output: str, **options: Any) -> None:
    """End the placement of a gang that is in bind, so that another gang may be placed.

    None of its members is bound then, and the scheduler tries them again. A gang that is committed stays: delete its
    pods to end it. If the gang changes after it was read, nothing is written. Exit status: 0 released, 1 not released,
    2 usage error.
    """
    from berth_cli.gangs.release import ReleaseOutcome

    key, source = _key(gang), Source(cache_table=None, kubeconfig=None, config=None, **options)
    _check(source)

    def confirm(in_bind: int) -> None:
        if not yes:
            question = f"End the placement of {key}, of which {in_bind} members are in bind?"
            click.confirm(question, abort=True, err=output != Format.TABLE)

    outcome = _release_at(source.url, source, key, confirm) if source.url else _release_in_table(source, key, confirm)
    if output != Format.TABLE:
        click.echo(render({"gang": str(key), "result": outcome.value}, output))
    match outcome:
        case ReleaseOutcome.RELEASED:
            if output == Format.TABLE:
                click.echo(f"released: {key}")
        case ReleaseOutcome.COMMITTED:
            raise click.ClickException(f"{key} is committed: its members keep their places; delete its pods to end it")
        case ReleaseOutcome.NOT_OPEN:
            raise click.ClickException(f"nobody of {key} is in bind; list gangs with: berth gangs list")
        case ReleaseOutcome.CHANGED:
            raise click.ClickException(f"{key} went on meanwhile, and nothing was written; see: berth gangs list")


def _release_in_table(source: Source, key: GangKey, confirm: Confirm) -> ReleaseOutcome:
    from berth_cli.gangs.release import read_target
    from berth_cli.gangs.release import release as end_placement

    with _open_table(source.stack, source.table, source.region) as opened:
        target = read_target(opened, key)
        confirm(target.in_bind(time.time()))
        return end_placement(opened, target, time.time)


def _release_at(url: str, source: Source, key: GangKey, confirm: Confirm) -> ReleaseOutcome:
    import orjson

    from berth_cli.gangs.release import ReleaseOutcome
    from berth_cli.sources.server import ServerUnavailable, answer_of_server

    found = next((each for each in _of_server(url, source)["gangs"] if each["gang"] == str(key)), None)
    if found is None:
        return ReleaseOutcome.NOT_OPEN
    confirm(found["members"]["inBind"])
    body = orjson.dumps({"gang": str(key), "revision": found.get("revision", "")})
    try:
        return ReleaseOutcome(answer_of_server(url, source.tls_files, "gangs/release", body, "result")["result"])
    except ServerUnavailable as error:
        raise click.ClickException(str(error)) from error


def _key(text: str) -> GangKey:
    from berth.scheduling.gangs.gang import GangKey

    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise click.BadParameter("use the form NAMESPACE/GANG", param_hint="GANG")
    return GangKey(namespace, name)


def _check(source: Source) -> None:
    """Raise UsageError for sources that exclude each other, and for a key without its certificate."""
    has_table = bool(source.stack or source.table)
    if source.url and (has_table or source.kubeconfig):
        raise click.UsageError("--url is for a berth serve: give it without --stack, --table and --kubeconfig")
    if source.kubeconfig and has_table:
        raise click.UsageError("--kubeconfig reads no table: give it without --stack and --table")
    if (source.kubeconfig is None) != (source.config is None):
        raise click.UsageError("--kubeconfig and --config go together: the document enables gangs")
    require_key_pair(source.certificate, source.key)


def _read(source: Source) -> Mapping[str, Any]:
    _check(source)
    if source.url:
        return _of_server(source.url, source)
    if source.kubeconfig and source.config:
        return _of_cluster(source.kubeconfig, source.config)
    return _of_table(source)


def _of_server(url: str, source: Source) -> Mapping[str, Any]:
    from berth_cli.sources.server import ServerUnavailable, running_document

    try:
        return running_document(url, source.tls_files, "gangs")
    except ServerUnavailable as error:
        raise click.ClickException(str(error)) from error


def _of_cluster(kubeconfig: Path, config: Path) -> Mapping[str, Any]:
    from berth.nodecache.feed.cluster import ClusterUnavailable
    from berth_cli.config.document import load_configuration
    from berth_cli.gangs.cluster import statuses_of
    from berth_cli.gangs.report import Gangs, document

    configuration = load_configuration(config, None)
    if not configuration.gangs.enabled:
        raise click.UsageError(f"{config} does not enable gangs")
    try:
        statuses = statuses_of(kubeconfig, configuration, time.time)
    except ClusterUnavailable as error:
        raise click.ClickException(str(error)) from error
    click.echo(click.style("from the cluster, without gangs in bind", fg="yellow"), err=True)
    return document(Gangs(statuses=statuses), time.time())


def _of_table(source: Source) -> Mapping[str, Any]:
    from berth_cli.gangs.report import Gangs, NotRead, document

    if source.cache_table and not source.table:
        raise click.UsageError("--cache-table goes with --table; --stack names both tables")
    with _open_table(source.stack, source.table, source.region) as table:
        items, domain, now = list(table.gangs()), table.domain(), time.time()
        if source.stack or source.cache_table:
            import boto3

            from berth_cli.deployed_stack import CACHE_TABLE_NAME, describe
            from berth_cli.gangs.cluster import statuses_in
            from berth_cli.reservations.claims import claim_sources

            name = source.cache_table or describe(source.stack or "", source.region).output(CACHE_TABLE_NAME)
            sources = claim_sources(boto3.client("dynamodb", region_name=source.region), name)
            statuses = statuses_in(sources, items, now)
        else:
            statuses = NotRead("give --cache-table too")
    if isinstance(statuses, NotRead):
        click.echo(click.style(f"only gangs that are or were in bind: {statuses.cause}", fg="yellow"), err=True)
    return document(Gangs(items, domain, statuses), now)


@contextmanager
def _open_table(stack: str | None, table: str | None, region: str | None) -> Iterator[GangTable]:
    with open_table(stack, table, region, OUTPUT) as (client, name):
        # Imported here: a usage error must not wait for it.
        from berth.gangs.dynamodb_table import DynamoDBGangTable

        yield DynamoDBGangTable(client, name)
