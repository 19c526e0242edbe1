"""The first story: three labelled nodes and one without, a relabelled node, one call instead of two, and no label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from berth_cli.demo.cluster_dump import LabelledCluster
from berth_cli.demo.extender_client import ExtenderClient
from berth_cli.demo.scheduler import Scheduler
from berth_cli.demo.view import View

LABELLED = {"node-a": "10", "node-b": "20", "node-c": "30", "node-d": None}


def labelled_cluster(path: Path) -> LabelledCluster:
    """As the story begins."""
    return LabelledCluster(path, LABELLED, ("web-1", "web-2", "web-3", "web-4"))


def play(cluster: LabelledCluster, extender: ExtenderClient, watch: Callable[[], object], view: View) -> None:
    """`watch` lets the watcher see what was changed. Raises ExtenderFailed."""
    scheduler = Scheduler(extender)

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
