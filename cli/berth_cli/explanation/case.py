"""A pod in a cluster, before and after changes. Changed objects are parsed again, as the verbs parse them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import orjson

from berth.scheduling.fields.reading import Object, part
from berth.scheduling.gangs.members import order_of_members
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.objects.pod_group import gang_names, names_gang
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.changed_objects import EVERY_NODE, free_names, node_like
from berth_cli.sources.node_document import node_document
from berth_cli.sources.pod_document import pod_document

Edit = Callable[[Object], object]
"""Changes an object in place. The result is ignored."""


@dataclass(frozen=True, slots=True)
class Case:
    """A pod and its cluster. pod: the pod, without a node. snapshot: the cluster without this pod. in_gang: whether the
    pod is placed together with the other members of its gang, which are then in the snapshot. planned: gang members and
    rivals that the snapshot has on their planned nodes. missing: the number of pods that need a node; in a gang it may
    be more than 1. capacities: the changed capacities, by floating pool. rivals, followers: the waiting pods that the
    scheduler tries before and after the pod. asked: the UID of the gang's member that needs a place; empty if any
    member may get it. selecting: by namespace and name of a pod on a node, the fields SELECTING of its spec; omits pods
    whose fields are unknown."""

    pod: Pod
    snapshot: Snapshot
    in_gang: bool = False
    planned: tuple[Pod, ...] = ()
    missing: int = 1
    capacities: Mapping[str, int] = field(default_factory=dict)
    rivals: tuple[Pod, ...] = ()
    followers: tuple[Pod, ...] = ()
    asked: str = ""
    selecting: Mapping[tuple[str, str], Object] = field(default_factory=dict)

    @property
    def object_of_pod(self) -> Object:
        """A copy of the pod as a v1.Pod with the fields that rules read."""
        return _object(self.pod)

    @property
    def mates(self) -> tuple[Pod, ...]:
        """The other members of the pod's gang that do not have a node, sorted by name."""
        if not self.in_gang or not names_gang(self.pod):
            return ()
        planned = {pod.uid for pod in self.planned}
        members = self.snapshot.pods_by_gang.get((self.pod.namespace, gang_names(self.pod)[0]), {}).values()
        waiting = [pod for pod in members if not pod.node_name or pod.uid in planned]
        found = [pod for pod in waiting if not pod.terminating and pod.uid != self.pod.uid]
        return tuple(sorted(found, key=order_of_members))

    @property
    def whom(self) -> str:
        """The subject of a change of the pod: in a gang, all members with the same spec."""
        if not (mates := self.mates):
            return "the pod"
        return "each member" if all(mate.spec is self.pod.spec for mate in mates) else "each like member"

    def rooted_at(self, uid: str) -> Case:
        """Return the same cluster with this unplaced member of the gang as the pod of the case."""
        if uid == self.pod.uid:
            return self
        snapshot = self.snapshot.with_changes(Changes(pods=(self.pod,)))
        without = snapshot.with_changes(Changes(pods_gone=[("", uid)]))
        return replace(self, pod=snapshot.unbound[uid], snapshot=without)

    def with_pod(self, edit: Edit) -> Case | None:
        """Return the case with a changed pod, and gang members with the same spec; None if one cannot be parsed."""
        mates = [mate for mate in self.mates if mate.spec is self.pod.spec]
        read = []
        for pod in (self.pod, *mates):
            changed = _object(pod)
            edit(changed)
            read.append(read_pod(changed))
        found = [pod for pod in read if isinstance(pod, Pod)]
        if len(found) < len(read):
            return None
        return replace(self, pod=found[0]).with_changes(Changes(pods=found[1:]))

    def with_node(self, name: str, edit: Edit) -> Case | None:
        """Return the case with a changed node; None if the result cannot be parsed."""
        changed = node_document(self.snapshot.nodes[name])
        edit(changed)
        node = read_node(changed)
        return self.with_changes(Changes(nodes=[node])) if isinstance(node, NodeInfo) and not node.defect else None

    def with_new_nodes(self, likes: Iterable[str], count: int = 1) -> tuple[Case, Mapping[str, str]]:
        """Add `count` nodes like each node in `likes`, with its DaemonSet and static pods. Return the case, and
        the name of each new node's model."""
        nodes, models = self.snapshot.nodes, dict[str, str]()
        for like in likes:
            models |= dict.fromkeys(itertools.islice(free_names(like, nodes), count), like)
        read = (read_node(node_like(node_document(nodes[like]), name)) for name, like in models.items())
        added = [node for node in read if isinstance(node, NodeInfo)]
        agents = [
            replace(pod, uid=f"{pod.uid}.{name}", node_name=name)
            for name, like in models.items()
            for pod in nodes[like].pods
            if pod.controller_kind in EVERY_NODE
        ]
        return self.with_changes(Changes(nodes=added, pods=agents)), models

    def with_changes(self, changes: Changes) -> Case:
        """Return the case after these changes of the cluster."""
        return replace(self, snapshot=self.snapshot.with_changes(changes))

    def lacks_replacement_of(self, pod: Pod) -> bool:
        """Return whether a controller would replace this pod on a node with a pod that is not known."""
        return pod.spec.controller is not None and (pod.namespace, pod.name) not in self.selecting

    def replacement_of(self, pod: Pod) -> Pod:
        """Return the pod that the controller of this pod on a node would create in its place; it must be known."""
        document = pod_document(replace(pod, node_name=""))
        spec = part(document, "spec") | self.selecting[pod.namespace, pod.name]
        read = read_pod({**document, "spec": spec})
        return replace(read if isinstance(read, Pod) else pod, uid=f"{pod.uid}.again", node_name="", created_at=None)


def _object(pod: Pod) -> Object:
    copied: Object = orjson.loads(orjson.dumps(pod_document(pod)))
    return copied
