"""Runs preemption for a pod in a cluster, given as the objects of a dump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.preemption import Preemption
from berth_cli.sources.dump.objects import read_objects
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.parity import scheduling_cycle as cycle

Object = dict[str, Any]

PROFILE = BerthConfiguration().build_profile("full")

FIRST, SECOND, THIRD = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"


def preempt(pod: Mapping[str, object], *objects: Mapping[str, object]) -> Preemption:
    """Run preemption with the profile `full`. Every node must be infeasible for the pod."""
    done = cycle.run(PROFILE, read(pod), snapshot(*objects))
    assert done.error is None
    assert done.preemption is not None, "a node is feasible"
    return done.preemption


def victims(pod: Mapping[str, object], *objects: Mapping[str, object]) -> list[str] | None:
    """Return the names of the victims on the only node, in order; None if evictions do not help."""
    candidates = preempt(pod, *objects).candidates
    return [victim.name for victim in candidates["n"].pods] if candidates else None


def violations(pod: Mapping[str, object], *objects: Mapping[str, object]) -> int:
    """Return the number of budget violations on the only node."""
    return preempt(pod, *objects).candidates["n"].num_pdb_violations


def read(pod: Mapping[str, object]) -> Pod:
    found = read_pod(pod)
    assert isinstance(found, Pod)
    return found


def snapshot(*objects: Mapping[str, object]) -> Snapshot:
    found = read_objects(objects)
    return Snapshot.of(
        found.nodes, found.pods, namespaces=found.namespaces, disruption_budgets=found.disruption_budgets
    )


def urgent(cpu: str = "4", **fields: Any) -> Object:
    """Return the pod to place, of priority 100. It requests a whole node by default."""
    return pod_with("urgent", requests={"cpu": cpu}, **{"priority": 100, **fields})


def placed(  # a pod has this many fields
    name: str,
    priority: int | None = 0,
    cpu: str = "1",
    start: str | None = FIRST,
    *,
    node: str = "n",
    labels: Mapping[str, str] | None = None,
    terminating: bool = False,
    conditions: Sequence[Mapping[str, str]] = (),
    **spec: Any,
) -> Object:
    """Return a pod on a node, by default `n`."""
    metadata = {"deletionTimestamp": SECOND} if terminating else {}
    status: Object = {"phase": "Running", "conditions": [dict(condition) for condition in conditions]}
    if start is not None:
        status["startTime"] = start
    fields = {"requests": {"cpu": cpu}, "nodeName": node, "priority": priority, **spec}
    return pod_with(name, labels, metadata=metadata, status=status, **fields)


def budget(
    allowed: int, selector: Mapping[str, object] | None, *, namespace: str = "default", disrupted: Sequence[str] = ()
) -> Object:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{allowed}", "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, FIRST)},
    }


def app(name: str) -> Object:
    return {"matchLabels": {"app": name}}


NODE = node_with("n")
"""A node with 4 cpus."""
