"""`berth console`: a page on the loopback address that shows the cluster as Berth sees it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth_cli.options import REGION_HELP, TLSFiles, plugins_option, require_key_pair, tls_options
from berth_cli.simulate.policy_options import weight_option

if TYPE_CHECKING:
    from berth_cli.console.health.doctor import Checks
    from berth_cli.console.policy.documents import SecondPolicy
    from berth_cli.console.running import ConsoleContents

CONSOLE_PORT = 8090

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth console --cluster dump.json
  berth console --kubeconfig ~/.kube/config --config berth.yaml
  berth console --kubeconfig ~/.kube/config --config berth.yaml --compare proposed.yaml
  berth console --kubeconfig ~/.kube/config --config berth.yaml --compare proposed.yaml --recording monday.rec
  berth console --stack berth-production --region eu-west-1
  berth console --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  berth serve --kubeconfig ~/.kube/config --console

\b
Exit status: 0 stopped, 1 cannot start, 2 usage error.
"""


@dataclass(frozen=True, slots=True)
class _Sources:
    """The options that say what is shown."""

    cluster: Path | None
    kubeconfig: Path | None
    stack: str | None
    region: str | None
    url: str | None
    tls: TLSFiles
    profile: str | None
    config: Path | None

    @property
    def has_cluster(self) -> bool:
        """Whether nodes and pods are read from a file or an API server."""
        return self.cluster is not None or self.kubeconfig is not None

    def check(self) -> None:
        """Raises UsageError."""
        if self.stack is not None and self.url is not None:
            raise click.UsageError("give --stack NAME or --url URL, not both: a stack has its decisions in its table")
        count = sum(given is not None for given in (self.cluster, self.kubeconfig, self.stack))
        if count > 1 or (count == 0 and self.url is None):
            raise click.UsageError("give one of --cluster DUMP, --kubeconfig FILE and --stack NAME, or --url URL")
        if not self.has_cluster and (self.profile or self.config):
            where = "--stack: the configuration in force" if self.stack else "--url alone: the server's configuration"
            raise click.UsageError(f"--profile and --config have no effect with {where} counts")
        if self.stack is None and self.region:
            raise click.UsageError("--region needs --stack")
        if self.url is None and any((self.tls.certificate, self.tls.key, self.tls.ca)):
            raise click.UsageError("--tls-client-cert, --tls-client-key and --ca need --url")
        require_key_pair(self.tls.certificate, self.tls.key)


@click.command(epilog=EPILOG)
@click.option("--cluster", type=_FILE, help="Cluster dump; read again when it changes.")
@click.option("--kubeconfig", type=_FILE, help="Live cluster: its API server is watched.")
@click.option("--stack", help="Name of a stack: its node cache and its decisions are read, once a second.")
@click.option("--region", help=REGION_HELP)
@click.option("--url", help="urlPrefix of a berth serve, such as http://127.0.0.1:8080/scheduler: what it says.")
@tls_options("--url")
@click.option("--profile", help="Name of a built-in profile; default: full, kube-scheduler's own plugins.")
@click.option("--config", type=click.Path(path_type=Path), help="BerthConfiguration document (YAML).")
@click.option("--compare", type=_FILE, help="A second BerthConfiguration document: what it would place elsewhere now.")
@click.option("--recording", type=_FILE, help="A recording of berth serve: where its pods go by the configurations.")
@plugins_option
@weight_option
@click.option("--port", default=CONSOLE_PORT, show_default=True, help="Port on 127.0.0.1; 0 selects a free port.")
def console(
    cluster: Path | None,
    kubeconfig: Path | None,
    stack: str | None,
    region: str | None,
    url: str | None,
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
    profile: str | None,
    config: Path | None,
    compare: Path | None,
    recording: Path | None,
    weight: int,
    port: int,
) -> None:
    """Show nodes and pods of a cluster on a page of this machine.

    Open the printed address. It works once, in one browser; then another one is printed for the next browser. The page
    only reads, it is served on 127.0.0.1 alone, and it loads nothing from elsewhere. Stop with Ctrl-C.

    With --kubeconfig the user needs the verbs list and watch on nodes, pods, namespaces, poddisruptionbudgets and
    priorityclasses; for pods that are spread by default, as without --config, also on services, replicationcontrollers,
    replicasets and statefulsets, and for gangs on podgroups. With --stack the caller needs to read the stack and its
    cache table. Counted resources are shown as the configuration counts them: with --stack the one in force, else that
    of --config or --profile.

    With --url the page shows the decisions and the health of that server. A server gives out neither nodes nor pods:
    give --kubeconfig or --cluster too. Without --config and --profile its configuration counts.
    """
    sources = _Sources(cluster, kubeconfig, stack, region, url, TLSFiles(certificate, key, ca), profile, config)
    sources.check()
    shown = replace(_shown(sources), second=_second(compare), recording=recording, weight=weight)
    # Imported here: a usage error must not wait for the server's modules.
    from berth_cli.console.running import open_console, show_address
    from berth_cli.http_server.server import ListenError

    try:
        opened = open_console(shown, port, show_address)
    except ListenError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"shows {shown.source.name}; only reads; Ctrl-C stops")
    with suppress(KeyboardInterrupt):
        opened.run()
    click.echo("stopped")


def _second(path: Path | None) -> SecondPolicy | None:
    """Raises InvalidInput."""
    if path is None:
        return None
    from berth_cli.console.policy.documents import SecondPolicy
    from berth_cli.simulate.policy_options import read_policy

    return SecondPolicy(str(path), read_policy(path))


def _shown(given: _Sources) -> ConsoleContents:
    """Raises ClickException."""
    from berth.configuration.store import ActiveConfiguration
    from berth_cli.console import sources
    from berth_cli.simulate.policy_options import read_policy

    if given.stack is not None:
        return sources.stack_source(given.stack, given.region)
    server = None if given.url is None else sources.running_server(given.url, given.tls)
    if server is not None and not given.has_cluster:
        return sources.server_source(server, _doctor(given))
    if server is None or given.profile or given.config:
        configured = ActiveConfiguration.of(read_policy(given.config, given.profile))
    else:
        configured = sources.configured_by(server)
    if given.kubeconfig is not None:
        shown = sources.kubeconfig_source(given.kubeconfig, configured)
    else:
        assert given.cluster is not None
        shown = sources.dump_source(given.cluster, configured)
    return shown if server is None else sources.with_server(shown, server, _doctor(given))


def _doctor(given: _Sources) -> Checks:
    """Of the server, and of its cluster where that is live."""
    from berth_cli.console.sources import doctor_with
    from berth_cli.doctor.inputs import Options

    return doctor_with(Options(url=given.url, files=given.tls, kubeconfig=given.kubeconfig))
