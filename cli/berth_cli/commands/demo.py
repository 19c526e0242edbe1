"""`berth demo`: runs four scenarios, three of them against one local server."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from berth.pods import DEFAULT_SCHEDULER
from berth_cli.demo import counted_resources, gangs, label_priority, resource_segregation
from berth_cli.demo.extender import Extender
from berth_cli.server import local_stack
from berth_cli.server.http import server
from berth_cli.server.watcher_thread import watcher_thread


@click.command(epilog="Example: berth demo | less")
def demo() -> None:
    """Run four policies on small clusters and show the node of each pod.

    label-priority: the value of a node label is the node's score. resource-segregation: nodes with GPUs accept only
    pods that request GPUs. gangs: all pods of a job are placed, or none. managed-resources: GPU memory is allocated
    without overcommit. The demo does not need an AWS account, a cluster or Docker. It calls the extender's HTTP API as
    kube-scheduler does; resource-segregation is simulated like `berth simulate`. Exit status: 0 finished, 1 the
    extender failed.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "cluster.json"
        label_priority.write_cluster(dump, label_priority.LABELLED)
        configuration = counted_resources.configuration(gangs.PROFILES)
        source = local_stack.dump_environment(dump)
        store = local_stack.memory_store(configuration, source)
        names = (DEFAULT_SCHEDULER, *configuration.profiles)
        stack = local_stack.start(configuration, source, store=store, scheduler_names=names)
        stack.run_watcher_once()
        listener = server.listen("127.0.0.1", 0)
        with server.serve_in_thread(stack.gateway, listener):
            extender = Extender(f"http://127.0.0.1:{listener.getsockname()[1]}/scheduler")
            label_priority.run(dump, extender, stack.run_watcher_once)
            resource_segregation.run()
            gangs.run(dump, extender, stack.run_watcher_once)
            with watcher_thread(stack.run_watcher):
                counted_resources.run(dump, extender, store.ledger)
    click.echo(f"\nFinished in {time.monotonic() - started:.1f} s. To connect your own scheduler: berth serve --help")
