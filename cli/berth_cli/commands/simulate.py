"""`berth simulate`: places the pods of a cluster dump and explains each placement."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import policy_options, read_policy, schedulers_option
from berth_cli.placement.changed_objects import AddNodes, Changes
from berth_cli.placement.queue import Queue, read_queue
from berth_cli.placement.report import Summary, document, explained, require_pods, table
from berth_cli.placement.scheduler.control_loop import control_loop_of
from berth_cli.placement.warnings import dump_warnings, eviction_warnings
from berth_cli.placement.what_if import Dump, WhatIf, what_if
from berth_cli.sources.dump.cluster import Cluster, read_dump
from berth_cli.sources.dump.manifests import read_manifests
from berth_cli.terminal.input_files import display_name, require_one_stdin
from berth_cli.terminal.output import Format, echo_warnings, output_option, render, to_yaml

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth simulate --cluster dump.json
  berth simulate --cluster dump.json --pod deployment.yaml --explain
  berth simulate --cluster dump.json --pod urgent.yaml    # shows evicted pods
  kubectl get nodes,pods -A -o json | berth simulate --cluster - -o json
  berth simulate --cluster dump.json --config berth.yaml --weight 5
  berth simulate --cluster dump.json --drain n1 --add-nodes 3 --like n2

\b
Exit status: 0 all pods placed, 1 some pods pending, 2 usage error, unreadable input, or no pods to place although some
wait: they are gated or of another scheduler.
"""


@click.command(epilog=EPILOG)
@click.option("--cluster", type=click.Path(path_type=Path), help="Cluster dump; - reads standard input.")
@click.option(
    "--pod",
    "pods",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Place the pods of this manifest (Pod, Deployment, StatefulSet, Job, …); - reads standard input.",
)
@policy_options
@schedulers_option
@click.option("--add-nodes", type=click.IntRange(1, 10_000), multiple=True, metavar="N", help="What if: add N nodes.")
@click.option("--like", multiple=True, metavar="NODE", help="The existing node that the nodes of --add-nodes copy.")
@click.option("--drain", multiple=True, metavar="NODE", help="Cordon the node and evict its pods, as kubectl does.")
@output_option()
@click.option(
    "--explain",
    is_flag=True,
    help="Show every node of every pod: its scores by plugin and Berth's share, or why it is rejected.",
)
def simulate(
    cluster: Path | None,
    pods: tuple[Path, ...],
    profile: str | None,
    config: Path | None,
    weight: int,
    schedulers: tuple[str, ...],
    add_nodes: tuple[int, ...],
    like: tuple[str, ...],
    drain: tuple[str, ...],
    output: str,
    explain: bool,
) -> None:
    """Place the pods of a cluster dump and explain each placement.

    Pods are placed one after another, by priority. kube-scheduler's own plugins always apply. Any profile other than
    `full` is applied after these plugins, as an extender. A pod that does not fit on any node preempts; its victims are
    removed at once. Volumes and dynamic resources are ignored. Warnings list the pods that use them, and kinds that are
    missing from the dump. Without --pod the pending pods of the dump are placed.

    What-if options change the dump: --add-nodes with --like, and --drain. They can be combined and repeated. The output
    shows each pod before and after.
    """
    if cluster is None:
        raise click.UsageError(
            "give --cluster FILE (a dump: kubectl get nodes,pods -A -o json > FILE), or - for standard input"
        )
    require_one_stdin(cluster, *pods)
    if len(add_nodes) != len(like):
        raise click.UsageError("--add-nodes N and --like NODE belong together: give as many of one as of the other")
    changes = Changes(tuple(map(AddNodes, add_nodes, like)), tuple(dict.fromkeys(drain)))
    if changes and explain:
        raise click.UsageError("--explain shows one run; leave out the changes, or --explain")
    configuration = read_policy(config, profile)
    # The command does not create reference cycles, so garbage collection would only cost time.
    gc.disable()
    try:
        objects = list(read_dump(cluster))
        dump = Dump(objects, display_name(cluster), read_manifests(pods), schedulers)
        if changes:
            has_pending = _compare(what_if(dump, changes, configuration, weight), output)
        else:
            echo_warnings(dump_warnings(objects, configuration.gangs, dump.manifests))
            found, queue = read_queue(objects, dump.where, configuration, schedulers, dump.manifests)
            require_pods(queue, dump.where)
            del objects, dump
            has_pending = _place(configuration, found, queue, weight, Format(output), explain).pending > 0
    finally:
        gc.enable()
    sys.exit(1 if has_pending else 0)


def _compare(found: WhatIf, output: str) -> bool:
    """Show the pods before and after the changes; return whether a pod is pending after them."""
    echo_warnings(found.warnings)
    if output == Format.TABLE:
        _print(found.lines())
    else:
        click.echo(render(found.document(), output))
    return found.has_pending


def _place(
    configuration: BerthConfiguration, cluster: Cluster, queue: Queue, weight: int, output: Format, explain: bool
) -> Summary:
    loop = control_loop_of(configuration, cluster.snapshot, weight=weight, explain_placed=explain)
    summary = Summary(queue, cluster.left_out)
    outcomes = summary.count(loop.run(queue.pods))
    if output is Format.JSON:
        _print(document(outcomes, summary, explain_placed=explain))
    elif output is Format.YAML:
        _print([to_yaml("".join(document(outcomes, summary, explain_placed=explain)))])
    else:
        _print(explained(outcomes, summary) if explain else table(outcomes, summary))
    echo_warnings(eviction_warnings(summary.evicted, cluster.snapshot.disruption_budgets))
    return summary


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
