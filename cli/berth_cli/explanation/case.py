"""A pod in a cluster, before and after a change of the pod or of a node.

Changes are applied to the stored Kubernetes objects, which are then parsed again. So a changed pod or node means the
same as to the verbs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from berth.scheduling.fields.reading import Object, part
from berth.scheduling.fields.resources import CPU, PODS
from berth.scheduling.gangs.gang import SIZE
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.objects.pod_group import gang_names, names_gang, names_pod_group
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.changed_objects import EVERY_NODE, node_like
from berth_cli.sources.pod_document import pod_document

Edit = Callable[[Object], None]
"""Changes an object in place."""


@dataclass(frozen=True, slots=True)
class Case:
    """A pod and its cluster. pod: without a node; pod_object: its object. snapshot: the cluster without this pod.
    in_gang: whether the pod is placed together with the other members of its gang, which are then in the
    snapshot. planned: members that the snapshot has on the nodes of the gang's plan. missing: the number of pods that
    need a node; in a gang it may be more than 1. capacities: changed ones, by floating pool. rivals: the waiting pods
    of a higher priority that the scheduler tries first. asked: the UID of the gang's member that needs a place; empty
    if any will do. selecting: the fields of specs by which a replacement selects nodes, by the key of a pod on a node.
    """

    pod: Pod
    pod_object: Object
    snapshot: Snapshot
    in_gang: bool = False
    planned: tuple[Pod, ...] = ()
    missing: int = 1
    capacities: Mapping[str, int] = field(default_factory=dict)
    rivals: tuple[Pod, ...] = ()
    asked: str = ""
    selecting: Mapping[tuple[str, str], Object] = field(default_factory=dict)

    @property
    def mates(self) -> tuple[Pod, ...]:
        """The other members of the pod's gang that do not have a node, sorted by name."""
        if not self.in_gang or not names_gang(self.pod):
            return ()
        planned = {pod.uid for pod in self.planned}
        members = self.snapshot.pods_by_gang.get((self.pod.namespace, gang_names(self.pod)[0]), {}).values()
        waiting = [pod for pod in members if not pod.node_name or pod.uid in planned]
        found = [pod for pod in waiting if not pod.terminating and pod.uid != self.pod.uid]
        return tuple(sorted(found, key=lambda pod: (len(pod.name), pod.name)))

    @property
    def whom(self) -> str:
        """The subject of a change of the pod: in a gang, all members with the same spec."""
        mates = self.mates
        if not mates:
            return "the pod"
        return "each member" if all(mate.spec is self.pod.spec for mate in mates) else "each member like it"

    @property
    def whose(self) -> str:
        """The subject in the possessive."""
        return {"the pod": "the pod's", "each member": "each member's"}.get(self.whom, "each like member's")

    def rooted_at(self, uid: str) -> Case:
        """Return the same cluster with this unplaced member of the gang as the pod of the case."""
        if uid == self.pod.uid:
            return self
        snapshot = self.snapshot.with_changes(Changes(pods=(self.pod,)))
        other = snapshot.unbound[uid]
        without = snapshot.with_changes(Changes(pods_gone=[("", uid)]))
        return replace(self, pod=other, pod_object=dict(pod_document(other)), snapshot=without)

    def with_pod(self, edit: Edit) -> Case | None:
        """Return the case with a changed spec of the pod, and of gang members with the same spec; None if the result
        cannot be parsed."""
        return self._with_pods(edit, [mate for mate in self.mates if mate.spec is self.pod.spec])

    def with_size(self, size: int) -> Case | None:
        """Return the case with this number of gang members that are placed together."""
        if names_pod_group(self.pod):
            name = self.pod.namespace, gang_names(self.pod)[0]
            groups = self.snapshot.pod_groups.values()
            changed = [replace(each, minimum=size) if each.key[1:] == name else each for each in groups]
            return self.with_changes(Changes(pod_groups=changed))

        def edit(obj: Object) -> None:
            part(part(obj, "metadata"), "annotations")[SIZE] = str(size)

        return self._with_pods(edit, self.mates)

    def with_node(self, name: str, edit: Edit) -> Case | None:
        """Return the case with a changed node; None if the result cannot be parsed."""
        changed = object_of_node(self.snapshot.nodes[name])
        edit(changed)
        return self._with_nodes([changed], ())

    def with_nodes_like(self, like: str, names: Iterable[str]) -> Case | None:
        """Return the case with new nodes of this kind, and the pods that run on every node."""
        added = [(name, node_like(object_of_node(self.snapshot.nodes[like]), name)) for name in names]
        agents = [copy for name, _ in added for copy in self._agents(like, name)]
        return self._with_nodes([obj for _, obj in added], agents)

    def with_one_of_each_kind(self) -> tuple[Case | None, Mapping[str, str]]:
        """Return the case with a new node of each kind in the cluster; and map each new node to the first node of its
        kind, by name."""
        kinds: dict[bytes, str] = {}
        for name, node in sorted(self.snapshot.nodes.items()):
            kinds.setdefault(orjson.dumps(node_like(object_of_node(node), ""), option=orjson.OPT_SORT_KEYS), name)
        likes = {self.new_names(name, 1)[0]: name for name in kinds.values()}
        agents = [copy for new, name in likes.items() for copy in self._agents(name, new)]
        nodes = [node_like(object_of_node(self.snapshot.nodes[name]), new) for new, name in likes.items()]
        return self._with_nodes(nodes, agents), likes

    def new_names(self, like: str, count: int) -> Sequence[str]:
        """Return names that are not used by nodes."""
        free = (name for number in itertools.count(1) if (name := f"{like}-new-{number}") not in self.snapshot.nodes)
        return list(itertools.islice(free, count))

    def with_changes(self, changes: Changes) -> Case:
        """Return the case after these changes of the cluster."""
        return replace(self, snapshot=self.snapshot.with_changes(changes))

    def replacement_of(self, pod: Pod) -> Pod:
        """Return the pod that the controller of this pod on a node creates in its place."""
        document = pod_document(replace(pod, node_name=""))
        spec = part(document, "spec") | self.selecting.get((pod.namespace, pod.name), {})
        read = read_pod({**document, "spec": spec})
        return replace(read if isinstance(read, Pod) else pod, uid=f"{pod.uid}.again", node_name="")

    def _agents(self, like: str, name: str) -> Iterator[Pod]:
        """Yield the pods that run on every node, for the node with this name."""
        agents = (pod for pod in self.snapshot.nodes[like].pods if pod.controller_kind in EVERY_NODE)
        return (replace(pod, uid=f"{pod.uid}.{name}", node_name=name) for pod in agents)

    def _with_pods(self, edit: Edit, mates: Iterable[Pod]) -> Case | None:
        changed = _copy(self.pod_object)
        edit(changed)
        pod = read_pod(changed)
        others = [_edited(mate, edit) for mate in mates]
        if not isinstance(pod, Pod) or None in others:
            return None
        case = replace(self, pod=pod, pod_object=changed)
        return case.with_changes(Changes(pods=[each for each in others if each])) if others else case

    def _with_nodes(self, changed: Iterable[Object], pods: Sequence[Pod]) -> Case | None:
        nodes = list(map(read_node, changed))
        readable = [node for node in nodes if isinstance(node, NodeInfo) and node.defect is None]
        if len(readable) < len(nodes):
            return None
        return self.with_changes(Changes(nodes=readable, pods=pods))


def _edited(pod: Pod, edit: Edit) -> Pod | None:
    changed = _copy(dict(pod_document(pod)))
    edit(changed)
    read = read_pod(changed)
    return read if isinstance(read, Pod) else None


def object_of_node(node: NodeInfo) -> Object:
    """Build a v1.Node with the fields that rules read. `read_node` parses it into the same node, without its pods."""
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    allocatable = {name: f"{amount}m" if name == CPU else str(amount) for name, amount in node.allocatable.items()}
    allocatable[PODS] = str(node.allowed_pods)
    conditions = [{"type": "Ready", "status": node.ready}] if node.ready else []
    return {
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": dict(node.annotations)},
        "spec": {"taints": taints, "unschedulable": node.unschedulable},
        "status": {
            "phase": node.phase,
            "allocatable": allocatable,
            "conditions": conditions,
            "images": [{"names": [name], "sizeBytes": size} for name, size in node.images.items()],
        },
    }


def objects_in(value: object) -> list[Object]:
    """Return the objects in a list; empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _copy(obj: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(obj))
    return copied
