"""Place the pods of a dump as it is, and of the same dump with changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.preemption.disruption_budgets import DisruptionBudgets
from berth_cli.cluster_files.cluster import Cluster, read_cluster, trim
from berth_cli.cluster_files.manifests import Manifests
from berth_cli.simulate.comparison.comparison import Comparison, Effect, compare
from berth_cli.simulate.comparison.run import PlaceKind, Run, record
from berth_cli.simulate.expectations import Figure
from berth_cli.simulate.queue import Queue, build_queue
from berth_cli.simulate.scheduler.control_loop import control_loop_of
from berth_cli.simulate.warnings import eviction_warnings, pod_warnings
from berth_cli.simulate.what_if.changed_objects import ChangedObjects, change_objects
from berth_cli.simulate.what_if.changes import Changes
from berth_cli.simulate.what_if.workload_pods import PodName, node_of, pod_name


@dataclass(frozen=True, slots=True)
class Dump:
    """What the simulation reads. `where`: the file, for messages. `schedulers`: whose pending pods are placed."""

    objects: Sequence[Object]
    where: str
    manifests: Manifests
    schedulers: Collection[str]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """`queue`: the pods that were to be placed after the changes. `notes`: what else the changes mean."""

    comparison: Comparison
    queue: Queue
    unreadable: Mapping[str, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def figures(self) -> Mapping[Figure, int]:
        """Of the run after the changes."""
        after = self.comparison.after
        return {
            Figure.PLACED: after.count(PlaceKind.NODE),
            Figure.PENDING: after.count(PlaceKind.PENDING),
            Figure.EVICTED: after.count(PlaceKind.EVICTED),
            Figure.NEWLY_PENDING: self.comparison.count(Effect.NEWLY_PENDING),
            Figure.MOVED: self.comparison.count(Effect.MOVED),
        }


def what_if(dump: Dump, changes: Changes, configuration: BerthConfiguration, weight: int) -> WhatIf:
    """Run the control loop on the dump without and with the changes. Raises InvalidInput."""
    changed = change_objects(dump.objects, changes)
    cluster, queue = _read(dump, dump.objects, (), configuration)
    before = _run(cluster, queue, configuration, weight)
    cluster_after, queue_after = _read(dump, changed.objects, changed.created, configuration)
    after = _run(cluster_after, queue_after, configuration, weight)
    gone = before.on_nodes.keys() - after.on_nodes.keys()
    return WhatIf(
        compare(before, after, gone),
        queue_after,
        cluster_after.unreadable,
        (*changed.notes, *_violated_budgets(cluster, changes, changed)),
        (
            *pod_warnings(
                _to_place(dump, changed), _kinds([*changed.objects, *dump.manifests.others]), configuration.gangs
            ),
            *eviction_warnings(after.count(PlaceKind.EVICTED), cluster.snapshot.disruption_budgets),
        ),
    )


def _read(
    dump: Dump, objects: Sequence[Object], created: Collection[PodName], configuration: BerthConfiguration
) -> tuple[Cluster, Queue]:
    trimmed = [trim(obj, configuration.counting) for obj in objects]
    cluster = read_cluster([*trimmed, *dump.manifests.others], dump.where, replaced=dump.manifests.names)
    if not dump.manifests.pods:
        return cluster, build_queue(cluster.pods, dump.schedulers, created)
    created_pods = [pod for pod in cluster.pods if (pod.namespace, pod.name) in created]
    return cluster, build_queue([*dump.manifests.read(cluster.priority_classes), *created_pods], ())


def _run(cluster: Cluster, queue: Queue, configuration: BerthConfiguration, weight: int) -> Run:
    loop = control_loop_of(configuration, cluster.snapshot, weight=weight)
    return record(loop, loop.run(queue.pods))


def _to_place(dump: Dump, changed: ChangedObjects) -> list[Object]:
    """The pods as they are given, for warnings."""
    unplaced = [obj for obj in changed.objects if obj.get("kind") == "Pod" and not node_of(obj)]
    if not dump.manifests.pods:
        return unplaced
    return [*dump.manifests.pods, *(obj for obj in unplaced if pod_name(obj) in changed.created)]


def _kinds(objects: Iterable[Object]) -> Counter[str]:
    return Counter(str(obj.get("kind")) for obj in objects)


def _violated_budgets(cluster: Cluster, changes: Changes, changed: ChangedObjects) -> list[str]:
    nodes = (cluster.snapshot.nodes[name] for name in changes.drain if name in cluster.snapshot.nodes)
    evicted = [pod for node in nodes for pod in node.pods if (pod.namespace, pod.name) in changed.created]
    violated = DisruptionBudgets(cluster.snapshot.disruption_budgets).violated(evicted)
    counted = Counter(budget for budgets in violated.values() for budget in budgets)
    return [
        f"kubectl drain waits: PodDisruptionBudget {budget} does not allow {count} of the evictions now"
        for budget, count in sorted(counted.items())
    ]
