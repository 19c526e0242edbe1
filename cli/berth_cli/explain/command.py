"""`berth explain`: why a pod is where it is, why it is pending, and what would place it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.managed_resources.counting import Counting
from berth_cli.config.document import display_name
from berth_cli.explain import attempt_report, report
from berth_cli.explain.attempts import Attempts, NoRecord
from berth_cli.explain.explanation import IS_PENDING, explain_node, explain_pod
from berth_cli.explain.rules import Rules
from berth_cli.explain.target import Target, parse_name, read_target
from berth_cli.output import Format, output_option, render
from berth_cli.scheduler_config.tls_config import TLSFiles
from berth_cli.simulate.documents import InvalidInput, parse_objects, read_input
from berth_cli.simulate.policy_options import policy_options, read_policy

if TYPE_CHECKING:
    from berth_cli.explain.server import Served

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
  berth explain ml/train-0 --url http://127.0.0.1:8080/scheduler
  berth explain ml/train-0 --url http://127.0.0.1:8080/scheduler --kubeconfig ~/.kube/config
  kubectl get nodes,pods -A -o json | berth explain train-0 --cluster - -o json

\b
Exit status: 0 the pod is placed or can be placed, 1 it is pending, 2 usage error, unreadable input, or no such pod.
"""


@click.command("explain", epilog=EPILOG)
@click.argument("pod", metavar="[NAMESPACE/]POD")
@click.option("--cluster", type=click.Path(path_type=Path), help="Cluster dump; - reads standard input.")
@click.option("--kubeconfig", type=_FILE, help="Live cluster, instead of --cluster. It is listed once.")
@click.option("--url", help="urlPrefix of a berth serve, such as http://127.0.0.1:8080/scheduler: its last decisions.")
@click.option("--tls-client-cert", "certificate", type=_FILE, help="With --url: client certificate (PEM).")
@click.option("--tls-client-key", "key", type=_FILE, help="With --url: private key of the client certificate (PEM).")
@click.option("--ca", type=_FILE, help="With --url: CA of the server's certificate (PEM); default: the system's.")
@policy_options
@click.option("--node", help="Show every plugin's verdict and score for this node.")
@output_option()
def explain(
    pod: str,
    cluster: Path | None,
    kubeconfig: Path | None,
    url: str | None,
    certificate: Path | None,
    key: Path | None,
    ca: Path | None,
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

    With --url the last attempts follow, and what changed since the attempt before. --url alone gives verdict and
    reasons of the last attempt. With a cluster too, the default policy is the server's.
    """
    is_on_cluster = cluster is not None or kubeconfig is not None
    if cluster is not None and kubeconfig is not None:
        raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, not both")
    if not is_on_cluster and url is None:
        raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, or --url URL")
    if not is_on_cluster and (node or profile or config):
        raise click.UsageError("--node, --profile and --config need a cluster: give --cluster or --kubeconfig too")
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-client-cert and --tls-client-key go together")
    served = None
    if url is not None:
        wants_configuration = is_on_cluster and not (config or profile)
        served = _ask(url, TLSFiles(certificate, key, ca), pod, wants_configuration=wants_configuration)
        if not is_on_cluster:
            _explain_records(pod, served.attempts, output)
    deployed = None if served is None else served.configuration
    configuration = deployed or read_policy(config, profile)
    history = None if served is None else served.attempts
    target = _target(pod, cluster, kubeconfig, configuration.counting, history)
    try:
        _explain(target, Rules(configuration), weight, node, sorted(configuration.profiles), output, history)
    except PluginFailed as error:
        raise click.ClickException(f"pod {pod}: {error}") from error


def _ask(url: str, files: TLSFiles, pod: str, *, wants_configuration: bool) -> Served:
    """Raises InvalidInput."""
    # Imported here: a dump needs no HTTP client.
    from berth_cli.explain.server import RecordsUnavailable, ask_server

    try:
        return ask_server(url, files, parse_name(pod), wants_configuration=wants_configuration)
    except RecordsUnavailable as error:
        raise InvalidInput(str(error)) from error


def _explain_records(pod: str, found: Attempts | NoRecord, output: str) -> NoReturn:
    """Raises InvalidInput."""
    if isinstance(found, NoRecord):
        raise InvalidInput(found.reason)
    namespace, name = parse_name(pod)
    lines = attempt_report.records_text(namespace, name, found, time.time())
    _print(lines, attempt_report.records_document(namespace, name, found), output)
    sys.exit(1 if found.is_pending else 0)


def _target(
    pod: str,
    cluster: Path | None,
    kubeconfig: Path | None,
    counting: Counting,
    history: Attempts | NoRecord | None,
) -> Target:
    """Raises InvalidInput."""
    if kubeconfig is None:
        assert cluster is not None
        where = display_name(cluster)
        return read_target(parse_objects(read_input(cluster), where), where, pod, counting)
    # Imported here: the Kubernetes client is slow to import, and a dump needs none.
    from berth_cli.explain.live_cluster import GONE_FROM_CLUSTER, live_objects

    gone = GONE_FROM_CLUSTER
    if isinstance(history, Attempts):
        ago = report.duration(time.time() - history.last.at)
        gone = f"it is gone: its last attempt was {ago} ago; --url without --kubeconfig shows it"
    return read_target(live_objects(kubeconfig, pod, counting, time.time), "the cluster", pod, counting, gone)


def _explain(
    target: Target,
    rules: Rules,
    weight: int,
    node: str | None,
    schedulers: Sequence[str],
    output: str,
    history: Attempts | NoRecord | None,
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
    lines = report.text(explained, schedulers, now, attempt_report.history_text(history, now))
    _print(lines, report.document(explained) | attempt_report.history_document(history), output)
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
