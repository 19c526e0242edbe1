"""`berth console`: serves a page on the loopback address that shows the cluster as Berth sees it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from berth_cli.configuration.document import weight_option
from berth_cli.terminal.options import CONSOLE_PORT, REGION_HELP, plugins_option

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth console --cluster dump.json
  berth console --kubeconfig ~/.kube/config --config berth.yaml
  berth console --stack berth-production --region eu-west-1
  berth serve --kubeconfig ~/.kube/config --console

\b
Exit status: 0 stopped, 1 cannot start, 2 usage error.
"""


@click.command(epilog=EPILOG)
@click.option("--cluster", type=_FILE, help="Cluster dump; read again when it changes.")
@click.option("--kubeconfig", type=_FILE, help="Live cluster: its API server is watched.")
@click.option("--stack", help="Name of a stack: its node cache and its decisions are read, once a second.")
@click.option("--region", help=REGION_HELP)
@click.option("--profile", help="Name of a built-in profile; default: full, kube-scheduler's own plugins.")
@click.option("--config", type=click.Path(path_type=Path), help="BerthConfiguration document (YAML).")
@plugins_option
@weight_option
@click.option("--port", default=CONSOLE_PORT, show_default=True, help="Port on 127.0.0.1; 0 selects a free port.")
def console(
    cluster: Path | None,
    kubeconfig: Path | None,
    stack: str | None,
    region: str | None,
    profile: str | None,
    config: Path | None,
    weight: int,
    port: int,
) -> None:
    """Show a cluster's nodes and pods on a local web page.

    Open the printed address. It works once, in one browser; then a new address is printed for the next browser. The
    page is read-only, is served on 127.0.0.1 only, and loads no external content. Stop with Ctrl-C.

    With --kubeconfig the user needs the verbs list and watch on nodes, pods, namespaces, poddisruptionbudgets and
    priorityclasses, and for gangs on podgroups. Without --config, or with default spreading, the user also needs them
    on services, replicationcontrollers, replicasets and statefulsets. With --stack the caller needs to read the stack
    and its cache table. The configuration determines which resources are counted: with --stack the one in force,
    otherwise the one that --config or --profile selects.
    """
    if sum(given is not None for given in (cluster, kubeconfig, stack)) != 1:
        raise click.UsageError("give one of --cluster DUMP, --kubeconfig FILE and --stack NAME")
    if stack is not None and (profile or config):
        raise click.UsageError("--profile and --config have no effect with --stack: the configuration in force counts")
    if stack is None and region:
        raise click.UsageError("--region needs --stack")
    # Imported here: usage errors must not wait for the server's modules.
    from berth.configuration.store import ActiveConfiguration
    from berth_cli.configuration.document import read_policy
    from berth_cli.console import running
    from berth_cli.server.http.server import ListenError

    if stack is not None:
        shown = running.stack_contents(stack, region, weight)
    else:
        configured = ActiveConfiguration.of(read_policy(config, profile))
        shown = running.cluster_contents(cluster, kubeconfig, configured, weight)
    try:
        opened = running.open_console(shown, port, running.show_address)
    except ListenError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"shows {shown.source.name}; only reads; Ctrl-C stops")
    with suppress(KeyboardInterrupt):
        opened.run()
    click.echo("stopped")
