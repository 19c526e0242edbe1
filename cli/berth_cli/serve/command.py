"""`berth serve`: the functions behind a local HTTP server."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.config.document import load_configuration

EPILOG = """\b
Examples:
  berth serve --kubeconfig ~/.kube/config --port 8080
  berth serve --cluster dump.yaml --tls-cert server.crt --tls-key server.key \\
      --client-ca certificates/ca.crt --allow-list certificates/allow-list
"""


@dataclass(frozen=True, slots=True)
class _Door:
    """How callers come in."""

    host: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    client_ca: Path | None
    allow_list: Path | None

    def check(self) -> None:
        """Raises UsageError for half of something."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise click.UsageError("give both --tls-cert and --tls-key, or neither")
        if (self.client_ca is None) != (self.allow_list is None):
            raise click.UsageError("give both --client-ca and --allow-list, or neither")
        if self.client_ca is not None and self.tls_cert is None:
            raise click.UsageError("--client-ca needs --tls-cert and --tls-key: client certificates are a part of TLS")


@click.command(epilog=EPILOG)
@click.option(
    "--cluster", type=click.Path(path_type=Path), help="A dump of a cluster: kubectl get nodes,pods -A -o yaml."
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="A live cluster: the watcher and bind talk to its API server."
)
@click.option(
    "--binder-kubeconfig",
    type=click.Path(path_type=Path),
    help="The same cluster as another user, for bind; --kubeconfig is the watcher's then (examples/rbac.yaml).",
)
@click.option("--profile", help="A shipped profile, such as label-priority.")
@click.option("--config", type=click.Path(path_type=Path), help="A BerthConfiguration document (YAML).")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8080, show_default=True, help="The port to listen on; 0 takes a free one.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="The server's certificate (PEM): HTTPS, not HTTP.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="The key of that certificate (PEM).")
@click.option(
    "--client-ca", type=click.Path(path_type=Path), help="Mutual TLS: the authority of the client certificates (PEM)."
)
@click.option(
    "--allow-list",
    type=click.Path(path_type=Path),
    help="Mutual TLS: the serials that may call, as berth certificates keeps them; read again every 30 s.",
)
@click.option("-v", "--verbose", is_flag=True, help="A log line for every call.")
def serve(
    cluster: Path | None,
    kubeconfig: Path | None,
    binder_kubeconfig: Path | None,
    profile: str | None,
    config: Path | None,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    client_ca: Path | None,
    allow_list: Path | None,
    verbose: bool,
) -> None:
    """Serve the extender's verbs on http://HOST:PORT/scheduler.

    The handlers, routes and events are those of the deployed stack; DynamoDB is embedded. Set the scheduler's urlPrefix
    to the address that is printed. Ctrl-C stops it.
    """
    if (cluster is None) == (kubeconfig is None):
        raise click.UsageError("give either --cluster FILE (a dump) or --kubeconfig FILE (a live cluster)")
    if binder_kubeconfig is not None and (kubeconfig is None or not binder_kubeconfig.is_file()):
        raise click.UsageError("--binder-kubeconfig is a file, and goes with --kubeconfig")
    door = _Door(host, port, tls_cert, tls_key, client_ca, allow_list)
    door.check()
    configuration = load_configuration(config, profile)
    source = cluster or kubeconfig
    if source is None or not source.is_file():
        remedy = "" if kubeconfig else "; make a dump with: kubectl get nodes,pods -A -o yaml > FILE"
        raise click.ClickException(f"{source} is not a file{remedy}")
    with suppress(KeyboardInterrupt):
        _serve(configuration, source, binder_kubeconfig, live=kubeconfig is not None, door=door, verbose=verbose)
    click.echo("stopped")


def _serve(
    configuration: BerthConfiguration, source: Path, binder: Path | None, *, live: bool, door: _Door, verbose: bool
) -> None:
    """Until Ctrl-C: uvicorn stops in good order, and then passes the signal on."""
    # Only now: these imports take most of the start-up time, and a mistyped option should be told at once.
    from berth_cli.serve import local_stack, server
    from berth_cli.serve.tls import TLS, TLSInvalid
    from berth_cli.serve.watcher_thread import watching

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    for each in (source, binder) if live else ():
        if each is not None:
            _refuse_what_is_no_kubeconfig(each)
    try:
        tls = TLS(door.tls_cert, door.tls_key, door.client_ca).context() if door.tls_cert and door.tls_key else None
        listener = server.listen(door.host, door.port)
    except (TLSInvalid, server.CannotListen) as error:
        raise click.ClickException(str(error)) from error
    stack = local_stack.start(
        configuration,
        local_stack.from_kubeconfig(source) if live else local_stack.from_dump(source),
        log_level="INFO" if verbose else "WARNING",
        allow_list=door.allow_list,
        binder=None if binder is None else local_stack.from_kubeconfig(binder),
    )
    first = stack.watch()
    if first["reason"] and not live:
        raise click.ClickException(str(first["reason"]))
    if not first["nodes"] and not live:
        raise click.ClickException(f"{source} has no nodes; make a dump with: kubectl get nodes,pods -A -o yaml > FILE")
    uvicorn_server = server.make_server(stack.gateway, tls)
    address = f"{'https' if tls else 'http'}://{door.host}:{listener.getsockname()[1]}"
    click.echo(f"Berth serves the profile {configuration.profile} on {address}/scheduler")
    state = "not read yet, tried again" if first["reason"] else f"{first['nodes']} nodes, watched"
    click.echo(
        f"cluster: {source}, {state if live else str(first['nodes']) + ' nodes, read again when it changes'}; "
        f"health: {address}/healthz; Ctrl-C stops"
    )
    with watching(stack.follow):
        uvicorn_server.run(sockets=[listener])


def _refuse_what_is_no_kubeconfig(path: Path) -> None:
    """A server that is away may come back; what no kubectl reads stays as it is."""
    from berth.cluster.api_server import kubeconfig
    from berth.nodecache.feed.cluster import ClusterUnavailable

    try:
        kubeconfig.from_file(path)
    except ClusterUnavailable as error:
        raise click.ClickException(str(error)) from error
