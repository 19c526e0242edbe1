"""Scenario 3, gangs: a training job of four pods that needs four nodes, first on three nodes, then on four."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from berth.scheduling.framework.shipped_profiles import FULL
from berth_cli.demo import view
from berth_cli.demo.extender import Extender, ExtenderFailed, Manifest, name_of, pending_pod
from berth_cli.demo.view import write_dump
from berth_cli.sources.server import running_document
from berth_cli.terminal.options import TLSFiles

# The pods of this scenario set schedulerName, because one server has a profile for each scenario.
SCHEDULER = "gang-scheduler"
PROFILES = {SCHEDULER: FULL}

NAMESPACE, GANG, SIZE = "ml", "train", 4
GPU = "nvidia.com/gpu"


def run(path: Path, extender: Extender, run_watcher: Callable[[], object]) -> None:
    """Run the scenario. `path`: the dump that the watcher reads. `run_watcher`: publishes the changed cluster. Raises
    ExtenderFailed."""
    members = [_pod(f"{GANG}-{number}", {GPU: "8"}, is_member=True) for number in range(1, SIZE + 1)]
    notebook = _pod("notebook", {"cpu": "4"})

    view.heading("A job of 4 pods with 8 GPUs each, and 3 nodes with 8 GPUs: no pod of it runs, others do")
    names = _publish(path, 3, [*members, notebook], run_watcher)
    for member in members:
        view.pending(f"{name_of(member)} is Pending: {extender.filter(member, names).event()}")
    [gang] = running_document(extender.url, TLSFiles(), "gangs")["gangs"]
    view.pending(f"berth gangs list: {gang['gang']} {gang['waitsFor']}")
    placement = extender.schedule(notebook, names)
    view.success(f"notebook runs on {placement.node}")

    view.heading("A fourth node comes: each pod of the job gets a node, and bind lets all of them pass at once")
    names = _publish(path, SIZE, members, run_watcher)
    chosen = [extender.filter(member, names).passed for member in members]
    if not all(chosen):
        raise ExtenderFailed(f"not every pod of {NAMESPACE}/{GANG} has a place")
    nodes = [passed[0] for passed in chosen]
    with ThreadPoolExecutor(SIZE) as binds:
        # The binds are concurrent, as in kube-scheduler: each waits for the other members.
        list(binds.map(extender.bind, members, nodes))
    view.success(f"all {SIZE} pods of {NAMESPACE}/{GANG} run: on {', '.join(sorted(nodes))}")


def _publish(path: Path, nodes: int, pods: list[Manifest], run_watcher: Callable[[], object]) -> list[str]:
    """Publish the cluster and return the names of its nodes."""
    allocatable = {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: "8"}
    names = [f"gpu-node-{number}" for number in range(1, nodes + 1)]
    found: list[Mapping[str, object]] = [
        {"kind": "Node", "metadata": {"name": name, "labels": {}}, "status": {"allocatable": allocatable}}
        for name in names
    ]
    write_dump(path, [*found, *pods])
    run_watcher()
    return names


def _pod(name: str, requests: Mapping[str, str], *, is_member: bool = False) -> Manifest:
    annotations = {"berth.dev/gang": GANG, "berth.dev/gang-size": str(SIZE)} if is_member else {}
    container = {"name": "main", "image": "main", "resources": {"requests": dict(requests)}}
    return pending_pod(name, NAMESPACE, annotations=annotations, schedulerName=SCHEDULER, containers=[container])
