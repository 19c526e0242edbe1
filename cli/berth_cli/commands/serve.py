"""`berth serve`: runs the Lambda functions behind a local HTTP server."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from berth.pods import BERTH_SCHEDULERS
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import load_configuration
from berth_cli.configuration.warnings import serve_warnings
from berth_cli.server.options import ServeOptions, http_timeout_of
from berth_cli.terminal.input_files import STDIN
from berth_cli.terminal.options import CONSOLE_PORT, plugins_option

if TYPE_CHECKING:
    from berth.decisions.recorders import BackgroundRecorder
    from berth_cli.placement.recording.format import RecordingWriter
    from berth_cli.server.local_stack import LocalStack
    from berth_cli.server.options import DynamoDBStore
    from berth_cli.server.problems import Problems
    from berth_cli.server.store.embedded_store import EmbeddedStore

EPILOG = """\b
Examples:
  berth serve --kubeconfig ~/.kube/config --port 8080
  berth serve --kubeconfig ~/.kube/config --store dynamodb --endpoint-url http://127.0.0.1:8000
  berth serve --kubeconfig ~/.kube/config --console
  berth serve --cluster dump.yaml --tls-cert server.crt --tls-key server.key \\
      --client-ca certificates/ca.crt --allow-list certificates/allow-list
  berth serve --kubeconfig ~/.kube/config --config berth.yaml --record monday.rec
"""


@click.command(epilog=EPILOG)
@click.option(
    "--cluster", type=click.Path(path_type=Path), help="Cluster dump: the output of kubectl get nodes,pods -A -o yaml."
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Live cluster: the watcher and bind call its API server."
)
@click.option(
    "--binder-kubeconfig",
    type=click.Path(path_type=Path),
    help="Separate credentials for bind; --kubeconfig is then used by the watcher only (see examples/rbac.yaml).",
)
@click.option("--profile", help="Name of a built-in profile, for example label-priority.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="BerthConfiguration document (YAML). With a store in memory, a changed file is tried and applied.",
)
@plugins_option
@click.option(
    "--store",
    "store_kind",
    type=click.Choice(["memory", "dynamodb"]),
    default="memory",
    show_default=True,
    help="Where the node cache and the ledger are: in this process, or in DynamoDB tables that servers share.",
)
@click.option("--cache-table", help="Name of the cache table, with --store dynamodb.  [default: berth-cache]")
@click.option("--ledger-table", help="Name of the ledger table, with --store dynamodb.  [default: berth-ledger]")
@click.option("--region", help="AWS region of the tables; default: from the AWS configuration.")
@click.option("--endpoint-url", help="Address of DynamoDB, for DynamoDB Local.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, help="Port to listen on; 0 selects a free port.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Server certificate (PEM); enables HTTPS.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Private key of the server certificate (PEM).")
@click.option(
    "--client-ca", type=click.Path(path_type=Path), help="Mutual TLS: certificate authority of the clients (PEM)."
)
@click.option(
    "--allow-list",
    type=click.Path(path_type=Path),
    help="Mutual TLS: serials of the allowed clients, as berth certificates writes them; read again every 30 s.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A DNS name by which callers reach this address over HTTP, besides localhost; repeatable.",
)
@click.option(
    "--decisions-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With decisions: file in the configuration: where records of decisions go, a JSON object a line.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every decision, with the state that it is made on, to a new file for berth policy diff --recording.",
)
@click.option(
    "--http-timeout",
    default="5s",
    callback=lambda _, __, text: http_timeout_of(text),
    show_default=True,
    help="httpTimeout of kube-scheduler's configuration: bind, and a gang's wait in it, end before.",
)
@click.option(
    "--scheduler-name",
    "scheduler_names",
    multiple=True,
    default=sorted(BERTH_SCHEDULERS),
    show_default=True,
    metavar="NAME",
    help="bind binds only pods with this schedulerName; repeatable. The cluster's own is default-scheduler.",
)
@click.option("--console", "console", is_flag=True, help="Also show the cluster on a page, see berth console.")
@click.option(
    "--console-port", default=CONSOLE_PORT, show_default=True, help="Port of the page; 0 selects a free port."
)
@click.option("-v", "--verbose", is_flag=True, help="Log every call.")
def serve(**given: Any) -> None:
    """Run the extender on http://HOST:PORT/scheduler.

    The handlers, routes and events are those of a deployed stack. The store is in this process unless --store names
    another one. Set the scheduler's urlPrefix to the printed address. The server stops on Ctrl-C, or when the program
    that reads its output ends. Exit status: 0 stopped, 1 cannot start, 2 usage error.
    """
    options = ServeOptions(**given)
    options.check()
    configuration = load_configuration(options.config, options.profile)
    source = options.cluster or options.kubeconfig
    if source is None or not source.is_file():
        made_with = "kubectl config view --raw --minify" if options.kubeconfig else "kubectl get nodes,pods -A -o yaml"
        what = "kubeconfig" if options.kubeconfig else "dump"
        raise click.ClickException(f"{source} is not a file; make a {what} with: {made_with} > FILE")
    with suppress(KeyboardInterrupt):
        _serve(configuration, source, options)
    click.echo("stopped")


def _serve(configuration: BerthConfiguration, source: Path, options: ServeOptions) -> None:
    """Serve until Ctrl-C or SIGTERM, which raise KeyboardInterrupt."""
    # Imported here: these imports take most of the start-up time, and usage errors must not wait for them.
    from botocore.exceptions import BotoCoreError

    from berth_cli.server import local_stack
    from berth_cli.server.gateway import RequestCheck
    from berth_cli.server.http import server
    from berth_cli.server.http.limits import allow_open_files
    from berth_cli.server.http.tls import TLS, InvalidTLSFiles
    from berth_cli.server.problems import Problems
    from berth_cli.server.watcher_thread import watcher_thread
    from berth_cli.terminal.logs import end_without_reader, log_to, make_readable_on_terminal

    log_to(sys.stderr)
    end_without_reader()
    live, binder = options.kubeconfig is not None, options.binder_kubeconfig
    for path in (source, binder) if live else ():
        if path is not None:
            _check_kubeconfig(path)
    try:
        tls = (
            TLS(options.tls_cert, options.tls_key, options.client_ca) if options.tls_cert and options.tls_key else None
        )
        listener = server.listen(options.host, options.port)
    except (InvalidTLSFiles, server.ListenError) as error:
        raise click.ClickException(str(error)) from error
    cluster = local_stack.kubeconfig_environment(source) if live else local_stack.dump_environment(source)
    store = options.store() or local_stack.memory_store(configuration, cluster)
    problems = Problems()
    try:
        file = None if options.decisions_file is None else _recorder_of(options.decisions_file, problems)
        stack = local_stack.start(
            configuration,
            cluster,
            log_level="INFO" if options.verbose else "WARNING",
            allow_list=options.allow_list,
            binder=None if binder is None else local_stack.kubeconfig_environment(binder),
            # Over HTTPS the certificate already proves the host name.
            check=RequestCheck(None if tls else options.host_names),
            store=store,
            decisions_file=file,
            recording=None if options.record is None else _new_recording(options.record, has_all_fields=not live),
            http_timeout=options.http_timeout,
            scheduler_names=options.scheduler_names,
            problems=problems,
        )
    except BotoCoreError as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error
    try:
        make_readable_on_terminal()
        first_run = stack.run_watcher_once()
        if first_run["reason"] and not live:
            raise click.ClickException(str(first_run["reason"]))
        if not first_run["nodes"] and not live:
            raise click.ClickException(
                f"{source} has no nodes; make a dump with: kubectl get nodes,pods -A -o yaml > FILE"
            )
        address = f"{'https' if tls else 'http'}://{options.host}:{listener.getsockname()[1]}"
        click.echo(f"Berth serves the profile {configuration.profile} on {address}/scheduler")
        warnings = partial(
            serve_warnings, schedulers=options.scheduler_names, has_file=file is not None, has_table=options.is_dynamodb
        )
        for warning in (
            *warnings(configuration),
            *options.store_warnings(),
            *allow_open_files(stack.gateway.limits.connections),
        ):
            click.echo(f"warning: {warning}", err=True)
        click.echo(f"cluster: {source}, {_state(first_run, live=live)}; health: {address}/healthz; Ctrl-C stops")
        click.echo(f"store: {store.description}")
        with (
            nullcontext() if file is None else closing(file),
            watcher_thread(stack.run_watcher),
            _followed(options.config, configuration, stack, store, warnings, problems),
            nullcontext()
            if tls is None
            else watcher_thread(lambda _: problems.note("--tls-cert", tls.reload(time.time())), "TLS files"),
            _console(stack, address, options.console_port if options.console else None),
        ):
            server.Server(stack.gateway, tls).run(listener)
    finally:
        stack.finish_recording()
        stack.release_ledger()


def _recorder_of(path: Path, problems: Problems) -> BackgroundRecorder:
    from berth_cli.server.decisions_file import decisions_file

    try:
        return decisions_file(path, partial(problems.note, "--decisions-file"))
    except OSError as error:
        raise click.ClickException(f"--decisions-file {path}: {error.strerror}") from error


def _new_recording(path: Path, *, has_all_fields: bool) -> RecordingWriter:
    from berth import __version__
    from berth_cli.placement.recording.format import Header, RecordingWriter

    try:
        return RecordingWriter(path, Header(time.time(), __version__, has_all_fields))
    except OSError as error:
        cause = "the file exists; name a new one" if isinstance(error, FileExistsError) else error.strerror
        raise click.ClickException(f"--record {path}: {cause}") from error


@contextmanager
def _console(stack: LocalStack, address: str, port: int | None) -> Iterator[None]:
    """Serve the console page until the block ends. port: None to serve no page."""
    if port is None:
        yield
        return
    from berth_cli.console.running import console_in_thread, serve_contents, show_address
    from berth_cli.server.http.server import ListenError

    try:
        with console_in_thread(serve_contents(address, stack.cache, stack.decisions), port, show_address):
            yield
    except ListenError as error:
        raise click.ClickException(f"--console-port: {error}") from error


@contextmanager
def _followed(
    config: Path | None,
    configuration: BerthConfiguration,
    stack: LocalStack,
    store: DynamoDBStore | EmbeddedStore,
    warnings: Callable[[BerthConfiguration], Iterable[object]],
    problems: Problems,
) -> Iterator[None]:
    """Apply the configuration's file whenever it changes, until the block ends. If servers share the tables, do not
    follow the file: then only `berth config apply` changes the configuration."""
    from berth_cli.configuration.changed_file import ConfigurationFile, local_functions
    from berth_cli.server.store.embedded_store import EmbeddedStore
    from berth_cli.server.watcher_thread import watcher_thread
    from berth_cli.terminal.logs import say

    if config is None or str(config) == STDIN or not isinstance(store, EmbeddedStore):
        yield
        return
    functions = local_functions(stack.gateway.handlers)
    file = ConfigurationFile(
        config,
        configuration.counting.counts,
        store.configuration,
        functions,
        lambda line: say(line, sys.stderr),
        warnings,
        partial(problems.note, "--config"),
    )
    with watcher_thread(lambda _: file.poll(), "configuration file"):
        yield


def _state(first_run: Mapping[str, str | int], *, live: bool) -> str:
    if first_run["reason"]:
        return f"not readable yet ({first_run['reason']}), retrying"
    if not live:
        return f"{first_run['nodes']} nodes, read again when it changes"
    if not first_run["publications"]:
        return "watched by another server with these tables"
    return f"{first_run['nodes']} nodes, watched"


def _check_kubeconfig(path: Path) -> None:
    """Fail at once if the kubeconfig is invalid. Only an unreachable API server is retried later."""
    from berth.cluster.api_server import kubeconfig
    from berth.nodecache.feed.cluster import ClusterUnavailable

    try:
        kubeconfig.from_file(path)
    except ClusterUnavailable as error:
        raise click.ClickException(str(error)) from error
