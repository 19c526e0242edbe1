"""Runs one plugin for a pod in a cluster, given as the objects of a dump."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.scheduling.framework.plugin import Status
from berth.scheduling.framework.profile import AnyFilter, AnyScore, Profile
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.cluster import Workloads
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.objects import read_objects
from tests.builders.pods import pod_with
from tests.parity import scheduling_cycle as cycle

Object = Mapping[str, object]


def verdicts(plugin: AnyFilter, pod: Object, *objects: Object) -> dict[str, Status]:
    done = cycle.run(Profile("alone", (plugin,), ()), _read(pod), _snapshot(objects))
    assert done.error is None
    return {name: verdict.status for name, verdict in done.verdicts.items()}


def verdict(plugin: AnyFilter, pod: Object, *objects: Object) -> Status:
    """Return the plugin's verdict on the only node."""
    (found,) = verdicts(plugin, pod, *objects).values()
    return found


def scores(plugin: AnyScore, pod: Object, *objects: Object) -> dict[str, int]:
    """Return the plugin's normalized scores. All nodes are candidates; there must be at least two."""
    done = cycle.run(Profile("alone", (), ((plugin, 1),)), _read(pod), _snapshot(objects))
    assert done.error is None
    return dict(done.scores[plugin.name])


def asking(**requests: str) -> dict[str, Any]:
    return pod_with(requests=requests)


def other(**requests: str) -> dict[str, Any]:
    """Return a pod with these requests on the node n."""
    return pod_with("other", requests=requests, nodeName="n")


def _read(pod: Object) -> Pod:
    read = read_pod(pod)
    assert isinstance(read, Pod)
    return read


def _snapshot(objects: tuple[Object, ...]) -> Snapshot:
    found = read_objects(objects)
    assert not found.unreadable
    return Snapshot.of(found.nodes, found.pods, namespaces=found.namespaces, workloads=Workloads.of(found.workloads))
