"""Scenario 1, label-priority: three labelled nodes and one without the label, then changed and removed labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from berth_cli.demo.extender import Extender, PendingPod, pending_pod
from berth_cli.demo.view import View, write_dump

LABEL = "priority.lixueduan.com"
LABELLED: Mapping[str, str | None] = {"node-a": "10", "node-b": "20", "node-c": "30", "node-d": None}
PODS = ("web-1", "web-2", "web-3", "web-4")


class LabelledCluster:
    """Nodes with or without the priority label, and pending pods. Labels can be changed."""

    def __init__(self, path: Path) -> None:
        """`path`: the dump, which is rewritten on every change."""
        self._path = path
        self.priorities = dict(LABELLED)
        self.pods = {name: pending_pod(name, "default") for name in PODS}
        self.relabel({})

    def relabel(self, priorities: Mapping[str, str | None]) -> None:
        """Set, change or (with None) remove the priority labels of these nodes."""
        self.priorities.update(priorities)
        nodes = [
            {"kind": "Node", "metadata": {"name": name, "labels": {} if priority is None else {LABEL: priority}}}
            for name, priority in self.priorities.items()
        ]
        write_dump(self._path, [*nodes, *(pod.manifest for pod in self.pods.values())])


def run(cluster: LabelledCluster, extender: Extender, run_watcher: Callable[[], object], view: View) -> None:
    """`run_watcher`: publishes the changed cluster. Raises ExtenderFailed."""

    def schedule(pod: PendingPod, filter_verb: str = "filter") -> None:
        placement = extender.schedule(pod, list(cluster.priorities), filter_verb)
        view.placement(pod.name, cluster.priorities, placement)

    first, second, third, fourth = cluster.pods.values()
    view.heading("Nodes labelled 10, 20 and 30, and one without the label: filter, prioritize, bind")
    schedule(first)
    cluster.relabel({"node-a": "40"})
    run_watcher()
    view.heading("node-a is relabelled 40: the next pod goes there")
    schedule(second)
    cluster.relabel({"node-b": "50"})
    run_watcher()
    view.heading("node-b is relabelled 50: filter_onlyone selects the node in one call")
    schedule(third, "filter_onlyone")
    cluster.relabel(dict.fromkeys(LABELLED))
    run_watcher()
    view.heading("No node has the label: the message of the pod's FailedScheduling event")
    schedule(fourth)
