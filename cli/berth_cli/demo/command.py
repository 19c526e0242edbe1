"""The story: three labelled nodes and one without, a relabelled node, one call instead of two, and no label at all."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

from berth.scheduling.configuration import BerthConfiguration
from berth_cli import local_stack, server
from berth_cli.demo.cluster_file import ClusterFile
from berth_cli.demo.scheduler import ExtenderFailed, Scheduler
from berth_cli.demo.view import View

LABELLED = {"node-a": "10", "node-b": "20", "node-c": "30", "node-d": None}


@click.command(epilog="Example: berth demo | less")
def demo() -> None:
    """Play the label-priority policy on a small cluster: where each pod goes, and why.

    Needs no account, no cluster and no Docker. Every step goes through the extender's HTTP API, as kube-scheduler's
    calls do.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        cluster = ClusterFile(Path(folder) / "cluster.json", LABELLED, ("web-1", "web-2", "web-3", "web-4"))
        stack = local_stack.start(BerthConfiguration(), local_stack.from_dump(cluster.path))
        stack.watch()
        listener = server.listen("127.0.0.1", 0)
        with server.serving(stack.gateway, listener):
            view = View(Console())
            scheduler = Scheduler(f"http://127.0.0.1:{listener.getsockname()[1]}/scheduler")
            try:
                play(cluster, scheduler, stack.watch, view)
            except ExtenderFailed as error:
                raise click.ClickException(str(error)) from error
    view.closing(f"\nPlayed in {time.monotonic() - started:.1f} s. A scheduler of your own: berth serve --help")


def play(cluster: ClusterFile, scheduler: Scheduler, watch: Callable[[], object], view: View) -> None:
    """`watch` lets the watcher see what was changed."""

    def schedule(pod: str, filter_verb: str = "filter") -> None:
        placement = scheduler.schedule(cluster.pod(pod), list(cluster.priorities), filter_verb)
        view.placement(pod, cluster.priorities, placement)

    view.scene("Nodes labelled 10, 20 and 30, and one without the label: filter, prioritize, bind")
    schedule("web-1")
    cluster.relabel({"node-a": "40"})
    watch()
    view.scene("node-a is relabelled 40: the next pod goes there")
    schedule("web-2")
    cluster.relabel({"node-b": "50"})
    watch()
    view.scene("node-b is relabelled 50, and filter_onlyone chooses in one call")
    schedule("web-3", "filter_onlyone")
    cluster.relabel(dict.fromkeys(LABELLED))
    watch()
    view.scene("No node has the label: what the pod's event says")
    schedule("web-4")
