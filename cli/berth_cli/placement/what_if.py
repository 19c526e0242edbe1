"""Places the pods of a dump twice: without and with changes of the dump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.preemption.victims import DisruptionBudgets
from berth_cli.placement.changed_objects import ChangedObjects, Changes, change_objects
from berth_cli.placement.comparison import Comparison, compare, comparison_document, figure_rows, pod_rows
from berth_cli.placement.queue import Queue, read_queue
from berth_cli.placement.report import left_out, require_pods
from berth_cli.placement.run import PlaceKind, Run, record
from berth_cli.placement.scheduler.control_loop import control_loop_of
from berth_cli.placement.warnings import dump_warnings, eviction_warnings
from berth_cli.sources.dump.cluster import Cluster
from berth_cli.sources.dump.manifests import Manifests


@dataclass(frozen=True, slots=True)
class Dump:
    """The input of the simulation. `where`: the file's name in messages. `schedulers`: the schedulers whose pending
    pods are placed."""

    objects: Sequence[Object]
    where: str
    manifests: Manifests
    schedulers: Collection[str]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The result with and without the changes. `queue`: the pods that were queued after the changes. `notes`: other
    effects of the changes."""

    comparison: Comparison
    queue: Queue
    unused: Mapping[str, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def has_pending(self) -> bool:
        """Whether a pod is pending after the changes."""
        return bool(self.comparison.after.count(PlaceKind.PENDING))

    def lines(self) -> Iterator[str]:
        """Yield a table of all pods before and after, followed by the cluster's figures."""
        if self.comparison.pods:
            yield from pod_rows(self.comparison.pods)
            yield ""
        yield from figure_rows(self.comparison)
        if self.notes:
            yield ""
        yield from self.notes
        yield from left_out(self.queue, self.unused)

    def document(self) -> dict[str, object]:
        """Return the comparison as a JSON object."""
        content = comparison_document(self.comparison, self.comparison.pods)
        return content | {"notes": list(self.notes), "leftOut": dict(self.unused)}


def what_if(dump: Dump, changes: Changes, configuration: BerthConfiguration, weight: int) -> WhatIf:
    """Run the control loop on the dump without and with the changes. Raises InvalidInput."""
    changed = change_objects(dump.objects, changes)
    given = dump.where, configuration, dump.schedulers, dump.manifests
    cluster, queue = read_queue(dump.objects, *given)
    before = _run(cluster, queue, configuration, weight)
    cluster_after, queue_after = read_queue(changed.objects, *given, changed.created)
    require_pods(queue_after, dump.where)
    after = _run(cluster_after, queue_after, configuration, weight)
    gone = before.on_nodes.keys() - after.on_nodes.keys()
    return WhatIf(
        compare(before, after, gone),
        queue_after,
        cluster_after.left_out,
        (*changed.notes, *_violated_budgets(cluster, changes, changed)),
        (
            *dump_warnings(changed.objects, configuration.gangs, dump.manifests, changed.created),
            *eviction_warnings(after.count(PlaceKind.EVICTED), cluster.snapshot.disruption_budgets),
        ),
    )


def _run(cluster: Cluster, queue: Queue, configuration: BerthConfiguration, weight: int) -> Run:
    loop = control_loop_of(configuration, cluster.snapshot, weight=weight)
    return record(loop, loop.run(queue.pods), configuration.counting)


def _violated_budgets(cluster: Cluster, changes: Changes, changed: ChangedObjects) -> list[str]:
    nodes = (cluster.snapshot.nodes[name] for name in changes.drain if name in cluster.snapshot.nodes)
    evicted = [pod for node in nodes for pod in node.pods if (pod.namespace, pod.name) in changed.created]
    violated = DisruptionBudgets(cluster.snapshot.disruption_budgets).violated(evicted)
    counted = Counter(budget for budgets in violated.values() for budget in budgets)
    return [
        f"kubectl drain waits: PodDisruptionBudget {budget} does not allow {count} of the evictions now"
        for budget, count in sorted(counted.items())
    ]
