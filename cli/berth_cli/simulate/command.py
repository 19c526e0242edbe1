"""`berth simulate`: which pod goes where, and why not."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.profiles import FULL
from berth_cli.config.document import load_configuration
from berth_cli.simulate.admission import DEFAULT_SCHEDULER
from berth_cli.simulate.cluster import Cluster, read_cluster, slim
from berth_cli.simulate.documents import STDIN, BadInput, contents, named, objects
from berth_cli.simulate.manifests import read_manifests
from berth_cli.simulate.queue import Queue, queue
from berth_cli.simulate.report import Format, Summary, document, explained, table
from berth_cli.simulate.scheduler.control_loop import ControlLoop, Outcome
from berth_cli.simulate.scheduler.extender import PolicyExtender

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth simulate --cluster dump.json
  berth simulate --cluster dump.json --pod deployment.yaml --explain
  berth simulate --cluster dump.json --pod urgent.yaml    # whom it evicts, and why there
  kubectl get nodes,pods -A -o json | berth simulate --cluster - -o json
  berth simulate --cluster dump.json --config berth.yaml --weight 5

\b
Exit status: 0 all pods placed, 1 some are not, 2 wrong options or unreadable input.
"""


@click.command(epilog=EPILOG)
@click.option("--cluster", type=click.Path(path_type=Path), help="A dump of the cluster; - reads standard input.")
@click.option(
    "--pod",
    "pods",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Place the pods of this manifest: Pods, or a Deployment, StatefulSet, Job, …; - reads standard input.",
)
@click.option("--all-pending", is_flag=True, help="Place the dump's pending pods (so it is without --pod).")
@click.option("--profile", help="A shipped profile; by default full, kube-scheduler's own plugins.")
@click.option("--config", type=click.Path(path_type=Path), help="A BerthConfiguration document (YAML).")
@click.option(
    "--weight", type=click.IntRange(min=1), default=1, show_default=True, help="The extender's, in the scheduler."
)
@click.option(
    "--scheduler-name",
    "schedulers",
    multiple=True,
    help=f"Whose pending pods are placed; by default those of {DEFAULT_SCHEDULER} and of the document's `profiles`.",
)
@click.option("-o", "--output", type=click.Choice([each.value for each in Format]), default="table", show_default=True)
@click.option("--explain", is_flag=True, help="Every node of every pod: its total, or who rejects it and why.")
@click.option("--jsonl", is_flag=True, help="For programs: a case a line on standard input, an answer a line.")
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
) -> None:
    """Run the scheduler's control loop on a dump: which pod goes where, who has to go for it, and why not.

    The pod of the highest priority comes first; each sees where those before it went. kube-scheduler's own plugins
    always decide; a profile other than `full` decides with them as Berth does live, as their extender. A pod that fits
    nowhere preempts: victims are gone at once. Volumes and dynamic resources are not looked at.
    """
    if jsonl:
        _answer_cases()
        return
    if cluster is None:
        raise click.UsageError(
            "give --cluster FILE (a dump: kubectl get nodes,pods -A -o json > FILE), or - for a pipe"
        )
    if pods and all_pending:
        raise click.UsageError("--pod and --all-pending exclude each other")
    if [str(path) for path in (cluster, *pods)].count(STDIN) > 1:
        raise click.UsageError("only one file can come from standard input")
    configuration = _configuration(config, profile)
    with _few_collections():
        found, taken = _read(cluster, pods, schedulers or _schedulers(configuration, pods), configuration.counting)
        gc.freeze()
        gc.enable()
        summary = _place(configuration, found, taken, weight, Format(output), explain)
    sys.exit(1 if summary.pending else 0)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Nothing that is read makes circles, and all of it stays to the end: the collector would search it for nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _answer_cases() -> None:
    # Only now: it is for programs, and a table has no use for it.
    from berth_cli.simulate.jsonl import run

    run(sys.stdin.buffer, sys.stdout.buffer)


def _configuration(config: Path | None, profile: str | None) -> BerthConfiguration:
    try:
        return load_configuration(config, profile if config or profile else FULL)
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise BadInput(error.message) from error


def _schedulers(configuration: BerthConfiguration, pods: tuple[Path, ...]) -> Collection[str]:
    """Pods that are asked about by name are placed whoever would do it."""
    return () if pods else {DEFAULT_SCHEDULER, *configuration.profiles}


def _read(path: Path, pods: Collection[Path], schedulers: Collection[str], counting: Counting) -> tuple[Cluster, Queue]:
    manifests = read_manifests(pods)
    text = contents(path)
    with progress("reading the dump", len(text)) as advance:
        found = [slim(obj, counting) for obj in objects(text, named(path), advance)]
    cluster = read_cluster([*found, *manifests.others], named(path), replaced=manifests.names)
    return cluster, queue(manifests.read(cluster.priority_classes) if pods else cluster.pods, schedulers)


def _place(
    configuration: BerthConfiguration, cluster: Cluster, taken: Queue, weight: int, output: Format, explain: bool
) -> Summary:
    loop = ControlLoop(
        configuration.build_profile(FULL),
        cluster.snapshot,
        PolicyExtender(configuration.policy()),
        weight=weight,
        in_full=explain,
    )
    summary = Summary(taken, cluster.unreadable)
    # Lines that come as pods are placed are a progress of their own.
    streamed = output is Format.JSON or explain
    with progress("placing pods", len(taken.pods), wanted=not (streamed and sys.stdout.isatty())) as advance:
        outcomes = _told(summary.counting(loop.run(taken.pods)), advance)
        if output is Format.JSON:
            _print(document(outcomes, summary, in_full=explain))
        elif explain:
            _print(explained(outcomes, summary))
        else:
            rows = list(table(outcomes, summary))
    if not streamed:
        _print(rows)
    return summary


def _told(outcomes: Iterable[Outcome], advance: Callable[[int], None]) -> Iterator[Outcome]:
    for outcome in outcomes:
        yield outcome
        advance(1)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


@contextmanager
def progress(title: str, total: int, *, wanted: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives what is told how much more has been done of `total`. The bar goes when the work is done."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    # Only now: it takes a tenth of a second to import.
    from rich.console import Console
    from rich.progress import Progress

    # Standard output is for the result; rich would put it on the bar's console.
    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(title, total=total)
        yield lambda more: bar.advance(task, more)
