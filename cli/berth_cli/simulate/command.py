"""`berth simulate`: place the pods of a cluster dump and explain each placement."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth_cli.cluster_files.admission import DEFAULT_SCHEDULER
from berth_cli.cluster_files.cluster import Cluster, read_cluster, trim
from berth_cli.cluster_files.documents import parse_objects
from berth_cli.cluster_files.manifests import read_manifests
from berth_cli.input_files import STDIN, display_name, read_input
from berth_cli.output import Format, output_option, render, to_yaml
from berth_cli.simulate.expectations import NEED_A_CHANGE, Expectation, Figure
from berth_cli.simulate.policy_options import policy_options, read_policy
from berth_cli.simulate.queue import Queue, build_queue
from berth_cli.simulate.report import Summary, document, explained, table
from berth_cli.simulate.scheduler.control_loop import Outcome, control_loop_of
from berth_cli.simulate.warnings import eviction_warnings, pod_warnings
from berth_cli.simulate.what_if.changes import Changes
from berth_cli.simulate.what_if.options import what_if_options
from berth_cli.simulate.what_if.report import what_if_document, what_if_lines
from berth_cli.simulate.what_if.what_if import Dump, what_if

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth simulate --cluster dump.json
  berth simulate --cluster dump.json --pod deployment.yaml --explain
  berth simulate --cluster dump.json --pod urgent.yaml    # shows evicted pods
  kubectl get nodes,pods -A -o json | berth simulate --cluster - -o json
  berth simulate --cluster dump.json --config berth.yaml --weight 5
  berth simulate --cluster dump.json --drain n1 --add-nodes 3 --like n2
  berth simulate --cluster dump.json --scale deployment/web=50 --expect 'pending<=3'

\b
Exit status: 0 all pods placed, 1 some pods pending, 2 usage error or unreadable input.
With --expect: 0 all expectations hold, 1 some do not.
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
@click.option("--all-pending", is_flag=True, help="Place the pending pods of the dump (the default without --pod).")
@policy_options
@click.option(
    "--scheduler-name",
    "schedulers",
    multiple=True,
    help=f"Place pending pods of this scheduler; default: {DEFAULT_SCHEDULER} and the document's `profiles`.",
)
@what_if_options
@output_option()
@click.option(
    "--explain",
    is_flag=True,
    help="Show every node of every pod: its scores by plugin and Berth's share, or why it is rejected.",
)
@click.option(
    "--jsonl",
    is_flag=True,
    help="For programs: read one JSON case per line from standard input, write one result per line.",
)
def simulate(
    cluster: Path | None,
    pods: tuple[Path, ...],
    all_pending: bool,
    profile: str | None,
    config: Path | None,
    weight: int,
    schedulers: tuple[str, ...],
    output: str,
    explain: bool,
    jsonl: bool,
    changes: Changes,
    expectations: tuple[Expectation, ...],
) -> None:
    """Place the pods of a cluster dump and explain each placement.

    Pods are placed by priority, each on the result of the previous ones. kube-scheduler's own plugins always apply. A
    profile other than `full` applies in addition, as an extender. A pod that fits on no node preempts; its victims are
    removed at once. Volumes and dynamic resources are ignored. Warnings name pods that have them, unknown fields of
    pods, and kinds that the dump lacks.

    What-if options change the dump: --add-nodes with --like, --drain, --cordon, --scale, together and repeatedly. The
    output shows each pod before and after.
    """
    if jsonl:
        _run_jsonl()
        return
    if cluster is None:
        raise click.UsageError(
            "give --cluster FILE (a dump: kubectl get nodes,pods -A -o json > FILE), or - for standard input"
        )
    if pods and all_pending:
        raise click.UsageError("--pod and --all-pending exclude each other")
    if [str(path) for path in (cluster, *pods)].count(STDIN) > 1:
        raise click.UsageError("only one file can come from standard input")
    _require_comparable(changes, expectations, explain)
    configuration = read_policy(config, profile)
    schedulers = schedulers or tuple(_schedulers(configuration, pods))
    with _garbage_collection_paused():
        if changes:
            figures = _compare(configuration, cluster, pods, schedulers, changes, weight, output)
        else:
            found, pending = _read(cluster, pods, schedulers, configuration)
            gc.freeze()
            gc.enable()
            figures = _place(configuration, found, pending, weight, Format(output), explain).figures
    sys.exit(_status(figures, expectations))


def _require_comparable(changes: Changes, expectations: Collection[Expectation], explain: bool) -> None:
    """Raises UsageError."""
    if changes and explain:
        raise click.UsageError("--explain shows one run; leave out the changes, or --explain")
    for each in expectations:
        if each.figure in NEED_A_CHANGE and not changes:
            raise click.UsageError(f"--expect {each}: {each.figure} needs a change to compare with, such as --drain")


def _status(figures: Mapping[Figure, int], expectations: Collection[Expectation]) -> int:
    """The exit status. Names each expectation that does not hold."""
    if not expectations:
        return 1 if figures[Figure.PENDING] else 0
    failed = [each for each in expectations if not each.holds(figures)]
    for each in failed:
        click.echo(f"expected {each}, found {figures[each.figure]}", err=True)
    return 1 if failed else 0


def _compare(
    configuration: BerthConfiguration,
    path: Path,
    pods: Collection[Path],
    schedulers: Collection[str],
    changes: Changes,
    weight: int,
    output: str,
) -> Mapping[Figure, int]:
    """Show the pods before and after the changes; the figures are those after."""
    manifests, text = read_manifests(pods), read_input(path)
    with progress("reading the dump", len(text)) as advance:
        objects = list(parse_objects(text, display_name(path), advance))
    gc.freeze()
    gc.enable()
    found = what_if(Dump(objects, display_name(path), manifests, schedulers), changes, configuration, weight)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if output == Format.TABLE:
        _print(what_if_lines(found))
    else:
        click.echo(render(what_if_document(found), output))
    return found.figures


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Reading creates no reference cycles and keeps all objects, so garbage collection would only cost time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _run_jsonl() -> None:
    # Imported here: only --jsonl needs it.
    from berth_cli.simulate.jsonl import run

    run(sys.stdin.buffer, sys.stdout.buffer)


def _schedulers(configuration: BerthConfiguration, pods: tuple[Path, ...]) -> Collection[str]:
    """Pods given with --pod are placed whatever their scheduler is."""
    return () if pods else {DEFAULT_SCHEDULER, *configuration.profiles}


def _read(
    path: Path, pods: Collection[Path], schedulers: Collection[str], configuration: BerthConfiguration
) -> tuple[Cluster, Queue]:
    counting = configuration.counting
    manifests = read_manifests(pods)
    text = read_input(path)
    kinds: Counter[str] = Counter()
    pending: list[Object] = []
    with progress("reading the dump", len(text)) as advance:
        found = [
            trim(_noted(obj, kinds, pending), counting) for obj in parse_objects(text, display_name(path), advance)
        ]
    kinds.update(str(each.get("kind")) for each in manifests.others)
    for warning in pod_warnings(manifests.pods if pods else pending, kinds, configuration.gangs):
        click.echo(f"warning: {warning}", err=True)
    cluster = read_cluster([*found, *manifests.others], display_name(path), replaced=manifests.names)
    return cluster, build_queue(manifests.read(cluster.priority_classes) if pods else cluster.pods, schedulers)


def _noted(obj: Object, kinds: Counter[str], pending: list[Object]) -> Object:
    """The object, counted by kind. A pod without a node is kept whole: what Berth does not read has warnings."""
    kind = str(obj.get("kind"))
    kinds[kind] += 1
    if kind == "Pod" and not (isinstance(spec := obj.get("spec"), dict) and spec.get("nodeName")):
        pending.append(obj)
    return obj


def _place(
    configuration: BerthConfiguration, cluster: Cluster, pending: Queue, weight: int, output: Format, explain: bool
) -> Summary:
    loop = control_loop_of(configuration, cluster.snapshot, weight=weight, explain_placed=explain)
    summary = Summary(pending, cluster.unreadable)
    # Output that is printed pod by pod shows the progress itself.
    streamed = output is Format.JSON or explain
    with progress("placing pods", len(pending.pods), wanted=not (streamed and sys.stdout.isatty())) as advance:
        outcomes = _with_progress(summary.count(loop.run(pending.pods)), advance)
        if output is Format.JSON:
            _print(document(outcomes, summary, explain_placed=explain))
        elif output is Format.YAML:
            _print([to_yaml("".join(document(outcomes, summary, explain_placed=explain)))])
        elif explain:
            _print(explained(outcomes, summary))
        else:
            rows = list(table(outcomes, summary))
    if not streamed:
        _print(rows)
    for warning in eviction_warnings(summary.evicted, cluster.snapshot.disruption_budgets):
        click.echo(f"warning: {warning}", err=True)
    return summary


def _with_progress(outcomes: Iterable[Outcome], advance: Callable[[int], None]) -> Iterator[Outcome]:
    for outcome in outcomes:
        yield outcome
        advance(1)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


@contextmanager
def progress(title: str, total: int, *, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error if it is a terminal. Yields a function that adds to the progress."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    # Imported here: the import takes 0.1 s.
    from rich.console import Console
    from rich.progress import Progress

    # Without this, rich would redirect standard output to the console of the bar.
    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(title, total=total)
        yield lambda more: bar.advance(task, more)
