"""`berth explain`: shows why a pod is on its node, why it is pending, and which changes would place it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from berth.scheduling.framework.plugin import PluginFailed
from berth_cli.configuration.document import policy_options
from berth_cli.explanation.answer import answer_to
from berth_cli.explanation.inputs import Sources, read_inputs
from berth_cli.terminal.options import REGION_HELP, TLSFiles, tls_files_options
from berth_cli.terminal.output import Format, output_option, render

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth explain ml/train-0 --cluster dump.json
  berth explain ml/train-0 --cluster dump.json --config berth.yaml
  berth explain ml/train-0 --stack berth
  berth explain ml/train-0 --stack berth --gang
  berth explain ml/train-0 --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  kubectl get nodes,pods -A -o json | berth explain train-0 --cluster - -o json

\b
Exit status: 0 the pod is placed or can be placed, 1 it is pending, 2 usage error, unreadable input, or no such pod.
"""


@click.command("explain", epilog=EPILOG)
@click.argument("pod", metavar="[NAMESPACE/]POD")
@click.option("--cluster", type=click.Path(path_type=Path), help="Cluster dump; - reads standard input.")
@click.option("--kubeconfig", type=_FILE, help="Live cluster, instead of --cluster. It is listed once.")
@click.option("--stack", help="Name of a deployed stack: its node cache, its configuration and its records.")
@click.option("--region", help=REGION_HELP)
@click.option("--url", help="urlPrefix of a berth serve, such as http://127.0.0.1:8080/scheduler: its last decisions.")
@tls_files_options(when="--url")
@policy_options
@click.option("--gang", is_flag=True, help="Explain the pod's gang as a whole: its members, and where they would go.")
@output_option()
def explain(
    pod: str,
    cluster: Path | None,
    kubeconfig: Path | None,
    stack: str | None,
    region: str | None,
    url: str | None,
    files: TLSFiles,
    profile: str | None,
    config: Path | None,
    weight: int,
    gang: bool,
    output: str,
) -> None:
    """Explain why a pod is on its node, why it is pending, and what would place it.

    The pod is evaluated as if it had no node, by kube-scheduler's own plugins and by Berth's profile. If it fits on no
    node, the output shows the smallest changes that would place it: a label, a taint, a lower request, pods that end,
    one more node. Each of them was simulated with the real rules. The search takes at most 5 seconds.

    With --kubeconfig the user needs the verb list on nodes, pods, namespaces, services, replicationcontrollers,
    replicasets, statefulsets, poddisruptionbudgets and priorityclasses, and for gangs on podgroups. The command does
    not write anything.

    With --url the output also shows the last attempts, and the default policy is the server's.

    With --stack the command reads the cluster as the verbs see it, the configuration in force, and the attempts if the
    configuration sets `decisions: table`. You need GetItem and Query on the cache table, and
    cloudformation:DescribeStacks. With --stack and --kubeconfig, the cluster is the live one.
    """
    sources = Sources(cluster, kubeconfig, url, files, stack, region)
    if cluster and kubeconfig:
        raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, not both")
    if stack and url:
        raise click.UsageError("give --stack NAME or --url URL, not both: a stack has its records in its table")
    if not (cluster or kubeconfig or stack):
        raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, or --stack NAME")
    if (config or profile) and not (cluster or kubeconfig):
        raise click.UsageError("the node cache has only the fields of the policy in force: give --kubeconfig FILE, too")
    try:
        found = answer_to(read_inputs(sources, pod, config, profile), weight=weight, gang=gang)
    except PluginFailed as error:
        raise click.ClickException(
            f"pod {pod}: {error}; the verbs fail for this pod, too: berth plugin check says what to correct"
        ) from error
    click.echo("\n".join(found.lines) if output == Format.TABLE else render(found.document, output))
    sys.exit(found.status)
