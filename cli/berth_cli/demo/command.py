"""Three stories, played on one server: its cluster is the dump that they write."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from berth_cli.demo import counted_resources, label_priority, resource_segregation
from berth_cli.demo.extender_client import ExtenderClient, ExtenderFailed
from berth_cli.demo.view import View
from berth_cli.serve import local_stack, server
from berth_cli.serve.watcher_thread import watching


@click.command(epilog="Example: berth demo | less")
def demo() -> None:
    """Play three policies on small clusters: where each pod goes, and why.

    Label-priority: a node's label is its score. Resource-segregation: nodes with GPUs are for the pods that ask for
    GPUs. Managed-resources: slices of GPUs, of which none is given twice. Needs no account, no cluster and no Docker.
    Every step goes through the extender's HTTP API, as kube-scheduler's calls do.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "cluster.json"
        cluster = label_priority.labelled_cluster(dump)
        stack = local_stack.start(
            counted_resources.configuration(resource_segregation.PROFILES), local_stack.from_dump(dump)
        )
        stack.watch()
        listener = server.listen("127.0.0.1", 0)
        with server.serving(stack.gateway, listener):
            view = View(Console())
            extender = ExtenderClient(f"http://127.0.0.1:{listener.getsockname()[1]}/scheduler")
            try:
                label_priority.play(cluster, extender, stack.watch, view)
                resource_segregation.play(dump, extender, stack.watch, view)
                with watching(stack.follow):
                    counted_resources.play(dump, extender, view)
            except ExtenderFailed as error:
                raise click.ClickException(str(error)) from error
    view.closing(f"\nPlayed in {time.monotonic() - started:.1f} s. A scheduler of your own: berth serve --help")
