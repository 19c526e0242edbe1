"""MaxPerRack: at most so many pods of one application in a rack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace

from pydantic import Field

from berth.scheduling.framework import (
    NODES_AND_PODS,
    SUCCESS,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    Status,
    unresolvable,
    unschedulable,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args as PluginArgs
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "MaxPerRack"

_NO_RACK = unresolvable(NAME, "node(s) had no rack label")
_FULL = unschedulable(NAME, "node(s) were in a rack with enough pods of this application")


class Args(PluginArgs):
    """`rack`: the label of nodes that names their rack. `app`: the label of pods that names their application.
    `limit`: the most pods of one application and namespace in a rack."""

    rack: str = "example.com/rack"
    app: str = "app"
    limit: int = Field(default=2, ge=1)


@dataclass(frozen=True, slots=True)
class RackCounts(ClusterFilter):
    """The pods of one application, by rack. Immutable: a change makes another one.

    application: namespace and value of the label; None if the pod has no such label, and every node passes.
    """

    args: Args
    application: tuple[str, str] | None
    pods: Mapping[str, int]

    @property
    def skips(self) -> bool:
        return self.application is None

    def filter(self, node: NodeInfo) -> Status:
        rack = node.labels.get(self.args.rack)
        if rack is None:
            return _NO_RACK
        return _FULL if self._is_full(rack) else SUCCESS

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        """Subtracts the changed nodes as they were, and adds them as they are: the time follows the changes alone."""
        after = Counter(self.pods)
        for name, before in delta.before.items():
            after.subtract(self.counted(before))
            after.update(self.counted(snapshot.nodes.get(name)))
        state = replace(self, pods=after)
        changed = [rack for rack in after if state._is_full(rack) is not self._is_full(rack)]
        return state, {name for rack in changed for name in snapshot.names_in(self.args.rack, rack)}

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, -1)

    def counted(self, node: NodeInfo | None) -> Counter[str]:
        """The pods of the application on the node, by its rack."""
        rack = None if node is None else node.labels.get(self.args.rack)
        if node is None or rack is None:
            return Counter()
        return Counter({rack: sum(application_of(pod, self.args) == self.application for pod in node.pods)})

    def _adjusted(self, pod: Pod, node: NodeInfo, number: int) -> ClusterFilter:
        rack = node.labels.get(self.args.rack)
        if rack is None or application_of(pod, self.args) != self.application:
            return self
        return replace(self, pods={**self.pods, rack: self.pods.get(rack, 0) + number})

    def _is_full(self, rack: str) -> bool:
        return self.pods.get(rack, 0) >= self.args.limit


def application_of(pod: Pod, args: Args) -> tuple[str, str] | None:
    """Pods of one namespace with the same value of the label are one application."""
    app = pod.labels.get(args.app)
    return None if app is None else (pod.namespace, app)


class MaxPerRack(ClusterFilterPlugin):
    """A rule about the pods on all nodes, so bind judges it once more."""

    name = NAME
    reads = NODES_AND_PODS
    # A pod that comes onto a node makes no room in a rack.
    events_to_register = frozenset(
        {
            ClusterEvent.NODE_UPDATE,
            ClusterEvent.NODE_DELETE,
            ClusterEvent.ASSIGNED_POD_UPDATE,
            ClusterEvent.ASSIGNED_POD_DELETE,
        }
    )
    Args = Args

    def __init__(self, args: Args) -> None:
        self._args = args

    def shape(self, pod: Pod) -> Hashable:
        return application_of(pod, self._args)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        state = RackCounts(self._args, application_of(pod, self._args), {})
        if state.skips:
            return state
        pods: Counter[str] = Counter()
        for node in snapshot.nodes.values():
            pods.update(state.counted(node))
        return replace(state, pods=pods)
