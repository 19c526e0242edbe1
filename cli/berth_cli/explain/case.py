"""A pod in a cluster, and the same after a change of the pod or of a node.

Changes are made to the objects as Kubernetes stores them, and read again. So a changed pod or node means exactly what
it would mean to the verbs.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import cast

import orjson

from berth.decisions.repeatable import pod_document
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.objects.pod_group import PodGroup, gang_names, names_gang
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

HOSTNAME = "kubernetes.io/hostname"

Edit = Callable[[Object], None]
"""Changes an object in place."""


@dataclass(frozen=True, slots=True)
class Case:
    """pod: as it is before it has a node. snapshot: the cluster without this pod. The objects are those of both.
    in_gang: whether the pod is placed together with the other members of its gang, which are then in the snapshot.
    planned: members that are in the snapshot as if they were on the nodes of the gang's plan."""

    pod: Pod
    pod_object: Object
    snapshot: Snapshot
    node_objects: Mapping[str, Object]
    in_gang: bool = False
    planned: tuple[Pod, ...] = ()

    @property
    def mates(self) -> tuple[Pod, ...]:
        """The other members of its gang that have no node, in the order of their names."""
        if not self.in_gang or not names_gang(self.pod):
            return ()
        planned = {pod.uid for pod in self.planned}
        members = self.snapshot.pods_by_gang.get((self.pod.namespace, gang_names(self.pod)[0]), {}).values()
        waiting = [pod for pod in members if not pod.node_name or pod.uid in planned]
        found = [pod for pod in waiting if not pod.terminating and pod.uid != self.pod.uid]
        return tuple(sorted(found, key=lambda pod: (len(pod.name), pod.name)))

    @property
    def whom(self) -> str:
        """Whom a change of the pod concerns: in a gang every member with the same spec."""
        mates = self.mates
        if not mates:
            return "the pod"
        return "each member" if all(self._is_alike(mate) for mate in mates) else "each member like it"

    @property
    def whose(self) -> str:
        """The same in front of what is changed."""
        return {"the pod": "the pod's", "each member": "each member's"}.get(self.whom, "each like member's")

    def rooted_at(self, uid: str) -> Case:
        """The same cluster, with this member of the gang as the pod of the case. It has no node."""
        if uid == self.pod.uid:
            return self
        snapshot = self.snapshot.with_changes(Changes(pods=(self.pod,)))
        other = snapshot.unbound[uid]
        without = snapshot.with_changes(Changes(pods_gone=[("", uid)]))
        return replace(self, pod=other, pod_object=dict(pod_document(other)), snapshot=without)

    def with_pod(self, edit: Edit) -> Case | None:
        """With another spec of the pod, and of the members of its gang that have the same; None where it cannot be read
        any more."""
        return self._with_pods(edit, [mate for mate in self.mates if self._is_alike(mate)])

    def with_members(self, edit: Edit) -> Case | None:
        """With a change of the pod and of every other member of its gang that has no node."""
        return self._with_pods(edit, self.mates)

    def alone_with_pod(self, edit: Edit) -> Case | None:
        """With a change of the pod and of no other member."""
        return self._with_pods(edit, ())

    def with_mates(self, edit: Edit, uids: Collection[str]) -> Case | None:
        """With a change of these other members."""
        changed = [_edited(mate, edit) for mate in self.mates if mate.uid in uids]
        return None if None in changed else self.with_changes(Changes(pods=[each for each in changed if each]))

    def with_more_members(self, count: int) -> Case | None:
        """With so many more pods like this one."""
        added = []
        for number in range(count):
            copy = _copy(self.pod_object)
            identity = {"name": f"{self.pod.name}-new-{number}", "uid": f"{self.pod.uid}.new.{number}"}
            copy["metadata"] = {**_part(copy, "metadata"), **identity}
            read = read_pod(copy)
            if not isinstance(read, Pod):
                return None
            added.append(read)
        return self.with_changes(Changes(pods=added))

    def with_pod_group(self, group: PodGroup) -> Case:
        """With this PodGroup, in place of the one of its name."""
        others = [each for each in self.snapshot.pod_groups.values() if each.key != group.key]
        return self.with_changes(Changes(pod_groups=[*others, group]))

    def with_node(self, name: str, edit: Edit) -> Case | None:
        """With another state of the node; None where it cannot be read any more."""
        changed = _copy(self.node_objects[name])
        edit(changed)
        return self._with_node_object(name, changed, ())

    def with_nodes_like(self, name: str, names: Iterable[str]) -> Case | None:
        """With more nodes of these names: the labels, taints and resources of the other, and its DaemonSets' pods."""
        daemons = [pod for pod in self.snapshot.nodes[name].pods if pod.controller_kind == "DaemonSet"]
        has_hostname = HOSTNAME in self.snapshot.nodes[name].labels
        case: Case | None = self
        for new in names:
            copies = [replace(pod, uid=f"{pod.uid}.{new}", node_name=new) for pod in daemons]
            changed = _renamed(self.node_objects[name], new, {HOSTNAME: new} if has_hostname else {})
            case = None if case is None else case._with_node_object(new, changed, copies)
        return case

    def with_new_node(self, name: str, node: Object) -> Case | None:
        """With this node under the name; None where it cannot be read."""
        return self._with_node_object(name, _renamed(node, name, {HOSTNAME: name}), ())

    def without_pods(self, node: str, uids: Collection[str]) -> Case:
        """Without these pods of the node."""
        return self.with_changes(Changes(pods_gone=[(node, uid) for uid in uids]))

    def with_changes(self, changes: Changes) -> Case:
        """In the cluster after these changes. The objects of nodes stay."""
        return replace(self, snapshot=self.snapshot.with_changes(changes))

    def _is_alike(self, mate: Pod) -> bool:
        return mate.spec is self.pod.spec

    def _with_pods(self, edit: Edit, mates: Iterable[Pod]) -> Case | None:
        changed = _copy(self.pod_object)
        edit(changed)
        pod = read_pod(changed)
        others = [_edited(mate, edit) for mate in mates]
        if not isinstance(pod, Pod) or None in others:
            return None
        case = replace(self, pod=pod, pod_object=changed)
        return case.with_changes(Changes(pods=[each for each in others if each])) if others else case

    def _with_node_object(self, name: str, changed: Object, pods: Collection[Pod]) -> Case | None:
        node = read_node(changed)
        if not isinstance(node, NodeInfo) or node.defect is not None:
            return None
        case = self.with_changes(Changes(nodes=(node,), pods=pods))
        # Nobody writes to it.
        others = cast("MutableMapping[str, Object]", self.node_objects)
        return replace(case, node_objects=ChainMap({name: changed}, others))


def _edited(pod: Pod, edit: Edit) -> Pod | None:
    changed = _copy(dict(pod_document(pod)))
    edit(changed)
    read = read_pod(changed)
    return read if isinstance(read, Pod) else None


def _renamed(node: Object, name: str, labels: Mapping[str, str]) -> Object:
    changed = _copy(node)
    metadata = changed["metadata"] = {**_part(changed, "metadata"), "name": name}
    metadata["labels"] = {**_part(metadata, "labels"), **labels}
    return changed


def _copy(obj: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(obj))
    return copied


def _part(obj: Object, name: str) -> Object:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}
