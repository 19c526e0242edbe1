"""`berth explain`: why a pod is where it is, why it is pending, and what would place it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import click

from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.managed_resources.counting import Counting
from berth_cli.explain import report
from berth_cli.explain.explanation import IS_PENDING, explain_node, explain_pod
from berth_cli.explain.rules import Rules
from berth_cli.explain.target import Target, read_target
from berth_cli.output import Format, output_option, render
from berth_cli.plugin.directory import plugins_option
from berth_cli.simulate.command import configuration_of
from berth_cli.simulate.documents import InvalidInput, display_name, parse_objects, read_input

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

SEARCH_SECONDS = 5.0
"""How long changes are looked for: on a large cluster the search ends before it has tried all."""

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth explain ml/train-0 --cluster dump.json
  berth explain ml/train-0 --cluster dump.json --config berth.yaml
  berth explain ml/train-0 --cluster dump.json --node gpu-7
  berth explain ml/train-0 --kubeconfig ~/.kube/config --config berth.yaml
  kubectl get nodes,pods -A -o json | berth explain train-0 --cluster - -o json

\b
Exit status: 0 the pod is placed or can be placed, 1 it is pending, 2 usage error or unreadable input.
"""


@click.command("explain", epilog=EPILOG)
@click.argument("pod", metavar="[NAMESPACE/]POD")
@click.option("--cluster", type=click.Path(path_type=Path), help="Cluster dump; - reads standard input.")
@click.option("--kubeconfig", type=_FILE, help="Live cluster, instead of --cluster. It is listed once.")
@click.option("--profile", help="Name of a built-in profile; default: full, kube-scheduler's own plugins.")
@click.option("--config", type=click.Path(path_type=Path), help="BerthConfiguration document (YAML).")
@plugins_option
@click.option(
    "--weight",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Weight of the extender in kube-scheduler's configuration.",
)
@click.option("--node", help="Show every plugin's verdict and score for this node.")
@output_option()
def explain(
    pod: str,
    cluster: Path | None,
    kubeconfig: Path | None,
    profile: str | None,
    config: Path | None,
    weight: int,
    node: str | None,
    output: str,
) -> None:
    """Explain why a pod is where it is, why it is pending, and what would place it.

    The pod is judged as if it had no node, by kube-scheduler's own plugins and by Berth's profile. For a pod that fits
    on no node, the smallest changes that would place it follow: a label, a taint, a lower request, pods to end, one
    more node. Each is tried with the real rules first. The search takes at most 5 seconds.

    With --kubeconfig the user needs the verb list on nodes, pods, namespaces, services, replicationcontrollers,
    replicasets, statefulsets, poddisruptionbudgets and priorityclasses. Nothing is written.
    """
    if (cluster is None) == (kubeconfig is None):
        raise click.UsageError("give --cluster DUMP or --kubeconfig FILE")
    configuration = configuration_of(config, profile)
    target = _target(pod, cluster, kubeconfig, configuration.counting)
    try:
        _explain(target, Rules(configuration), weight, node, sorted(configuration.profiles), output)
    except PluginFailed as error:
        raise click.ClickException(f"pod {pod}: {error}") from error


def _target(pod: str, cluster: Path | None, kubeconfig: Path | None, counting: Counting) -> Target:
    """Raises InvalidInput."""
    if cluster is not None:
        where = display_name(cluster)
        return read_target(parse_objects(read_input(cluster), where), where, pod, counting)
    assert kubeconfig is not None
    # Imported here: the Kubernetes client is slow to import, and a dump needs none.
    from berth_cli.explain.live_cluster import GONE_FROM_CLUSTER, live_objects

    objects = live_objects(kubeconfig, pod, counting, time.time)
    return read_target(objects, "the cluster", pod, counting, GONE_FROM_CLUSTER)


def _explain(
    target: Target, rules: Rules, weight: int, node: str | None, schedulers: Sequence[str], output: str
) -> None:
    """Raises PluginFailed."""
    if node is not None:
        _require_node(target, node)
        found = explain_node(target, rules, node)
        _print(report.node_text(found), report.node_document(found), output)
        sys.exit(0 if found.rejection is None else 1)
    end = time.monotonic() + SEARCH_SECONDS
    now = time.time()
    explained = explain_pod(target, rules, weight=weight, now=now, is_over=lambda: time.monotonic() >= end)
    lines = report.text(explained, schedulers, now)
    _print(lines, report.document(explained), output)
    sys.exit(1 if explained.verdict in IS_PENDING else 0)


def _require_node(target: Target, node: str) -> None:
    names = list(target.case.snapshot.nodes)
    if node not in names:
        close = get_close_matches(node, names, 1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise InvalidInput(f"the cluster has no node {node}{meant}")


def _print(lines: Iterable[str], document: Mapping[str, object], output: str) -> None:
    if output == Format.TABLE:
        for line in lines:
            click.echo(line)
    else:
        click.echo(render(document, output))
