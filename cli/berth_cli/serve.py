"""`berth serve`: the functions behind a local HTTP server."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

import click

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.configuration import load_configuration


@click.command(epilog="Example: berth serve --kubeconfig ~/.kube/config --port 8080")
@click.option(
    "--cluster", type=click.Path(path_type=Path), help="A dump of a cluster: kubectl get nodes,pods -A -o yaml."
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="A live cluster: the watcher and bind talk to its API server."
)
@click.option("--profile", help="A shipped profile, such as label-priority.")
@click.option("--config", type=click.Path(path_type=Path), help="A BerthConfiguration document (YAML).")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8080, show_default=True, help="The port to listen on; 0 takes a free one.")
@click.option("-v", "--verbose", is_flag=True, help="A log line for every call.")
def serve(
    cluster: Path | None,
    kubeconfig: Path | None,
    profile: str | None,
    config: Path | None,
    host: str,
    port: int,
    verbose: bool,
) -> None:
    """Serve the extender's verbs on http://HOST:PORT/scheduler.

    The handlers, routes and events are those of the deployed stack; DynamoDB is embedded. Set the scheduler's urlPrefix
    to the address that is printed. Ctrl-C stops it.
    """
    if (cluster is None) == (kubeconfig is None):
        raise click.UsageError("give either --cluster FILE (a dump) or --kubeconfig FILE (a live cluster)")
    configuration = load_configuration(config, profile)
    source = cluster or kubeconfig
    if source is None or not source.is_file():
        raise click.ClickException(
            f"{source} is not a file; make a dump with: kubectl get nodes,pods -A -o yaml > FILE"
        )
    with suppress(KeyboardInterrupt):
        _serve(configuration, source, live=kubeconfig is not None, host=host, port=port, verbose=verbose)
    click.echo("stopped")


def _serve(configuration: BerthConfiguration, source: Path, *, live: bool, host: str, port: int, verbose: bool) -> None:
    """Until Ctrl-C: uvicorn stops in good order, and then passes the signal on."""
    # Only now: these imports take most of the start-up time, and a mistyped option should be told at once.
    from berth_cli import local_stack, server
    from berth_cli.watching import watching

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    try:
        listener = server.listen(host, port)
    except server.CannotListen as error:
        raise click.ClickException(str(error)) from error
    stack = local_stack.start(
        configuration,
        local_stack.from_kubeconfig(source) if live else local_stack.from_dump(source),
        log_level="INFO" if verbose else "WARNING",
    )
    first = stack.watch()
    if first["reason"] and not live:
        raise click.ClickException(str(first["reason"]))
    uvicorn_server = server.make_server(stack.gateway)
    address = f"http://{host}:{listener.getsockname()[1]}"
    click.echo(f"Berth serves the profile {configuration.profile} on {address}/scheduler")
    click.echo(
        f"cluster: {source}, {first['nodes']} nodes, {'watched' if live else 'read again when it changes'}; "
        f"health: {address}/healthz; Ctrl-C stops"
    )
    with watching(stack.follow):
        uvicorn_server.run(sockets=[listener])
