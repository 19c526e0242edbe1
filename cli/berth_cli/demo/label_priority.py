"""Scenario 1, label-priority: three nodes have the label and one does not; then labels are changed and removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from berth_cli.demo import view
from berth_cli.demo.extender import Extender, Manifest, name_of, pending_pod
from berth_cli.demo.view import write_dump

LABEL = "priority.lixueduan.com"
LABELLED: Mapping[str, str | None] = {"node-a": "10", "node-b": "20", "node-c": "30", "node-d": None}
PODS = [pending_pod(f"web-{number}", "default") for number in (1, 2, 3, 4)]


def write_cluster(path: Path, priorities: Mapping[str, str | None]) -> None:
    """Write the dump: nodes with these values of the label, or without it, and the pending pods."""
    nodes = [
        {"kind": "Node", "metadata": {"name": name, "labels": {} if priority is None else {LABEL: priority}}}
        for name, priority in priorities.items()
    ]
    write_dump(path, [*nodes, *PODS])


def run(path: Path, extender: Extender, run_watcher: Callable[[], object]) -> None:
    """Run the scenario. `path`: the dump that the watcher reads. `run_watcher`: publishes the changed cluster. Raises
    ExtenderFailed."""
    priorities = dict(LABELLED)

    def schedule(pod: Manifest, filter_verb: str = "filter") -> None:
        placement = extender.schedule(pod, list(priorities), filter_verb)
        view.placement(name_of(pod), priorities, placement)

    def relabel(changed: Mapping[str, str | None]) -> None:
        priorities.update(changed)
        write_cluster(path, priorities)
        run_watcher()

    first, second, third, fourth = PODS
    view.heading("Nodes labelled 10, 20 and 30, and one without the label: filter, prioritize, bind")
    schedule(first)
    relabel({"node-a": "40"})
    view.heading("node-a is relabelled 40: the next pod goes there")
    schedule(second)
    relabel({"node-b": "50"})
    view.heading("node-b is relabelled 50: filter_onlyone selects the node in one call")
    schedule(third, "filter_onlyone")
    relabel(dict.fromkeys(LABELLED))
    view.heading("No node has the label: the message of the pod's FailedScheduling event")
    schedule(fourth)
