"""Scenario 1, label-priority: three labelled nodes and one without the label, then changed and removed labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from berth_cli.demo.cluster_dump import LabelledCluster
from berth_cli.demo.extender_client import ExtenderClient
from berth_cli.demo.scheduler import Scheduler
from berth_cli.demo.view import View

LABELLED = {"node-a": "10", "node-b": "20", "node-c": "30", "node-d": None}


def labelled_cluster(path: Path) -> LabelledCluster:
    """The cluster at the start of the scenario."""
    return LabelledCluster(path, LABELLED, ("web-1", "web-2", "web-3", "web-4"))


def run(cluster: LabelledCluster, extender: ExtenderClient, run_watcher: Callable[[], object], view: View) -> None:
    """`run_watcher`: publishes the changed cluster. Raises ExtenderFailed."""
    scheduler = Scheduler(extender)

    def schedule(pod: str, filter_verb: str = "filter") -> None:
        placement = scheduler.schedule(cluster.pod(pod), list(cluster.priorities), filter_verb)
        view.placement(pod, cluster.priorities, placement)

    view.heading("Nodes labelled 10, 20 and 30, and one without the label: filter, prioritize, bind")
    schedule("web-1")
    cluster.relabel({"node-a": "40"})
    run_watcher()
    view.heading("node-a is relabelled 40: the next pod goes there")
    schedule("web-2")
    cluster.relabel({"node-b": "50"})
    run_watcher()
    view.heading("node-b is relabelled 50: filter_onlyone selects the node in one call")
    schedule("web-3", "filter_onlyone")
    cluster.relabel(dict.fromkeys(LABELLED))
    run_watcher()
    view.heading("No node has the label: the message of the pod's FailedScheduling event")
    schedule("web-4")
