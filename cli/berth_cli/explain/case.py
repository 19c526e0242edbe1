"""A pod in a cluster, and the same after a change of the pod or of a node.

Changes are made to the objects as Kubernetes stores them, and read again. So a changed pod or node means exactly what
it would mean to the verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import orjson

from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

HOSTNAME = "kubernetes.io/hostname"

Edit = Callable[[Object], None]
"""Changes an object in place."""


@dataclass(frozen=True, slots=True)
class Case:
    """pod: as it is before it has a node. snapshot: the cluster without this pod. The objects are those of both."""

    pod: Pod
    pod_object: Object
    snapshot: Snapshot
    node_objects: Mapping[str, Object]

    def with_pod(self, edit: Edit) -> Case | None:
        """With another spec of the pod; None where it cannot be read any more."""
        changed = _copy(self.pod_object)
        edit(changed)
        pod = read_pod(changed)
        return replace(self, pod=pod, pod_object=changed) if isinstance(pod, Pod) else None

    def with_node(self, name: str, edit: Edit) -> Case | None:
        """With another state of the node; None where it cannot be read any more."""
        changed = _copy(self.node_objects[name])
        edit(changed)
        return self._with_node_object(name, changed, ())

    def with_node_like(self, name: str, new: str) -> Case | None:
        """With one more node of this name: the labels, taints and resources of the other, and its DaemonSets' pods."""
        changed = _copy(self.node_objects[name])
        metadata = _part(changed, "metadata")
        metadata["name"] = new
        labels = metadata.get("labels")
        if isinstance(labels, dict) and HOSTNAME in labels:
            labels[HOSTNAME] = new
        daemons = [pod for pod in self.snapshot.nodes[name].pods if pod.controller_kind == "DaemonSet"]
        copies = [replace(pod, uid=f"{pod.uid}.{new}", node_name=new) for pod in daemons]
        return self._with_node_object(new, changed, copies)

    def with_new_node(self, name: str, node: Object) -> Case | None:
        """With this node under the name; None where it cannot be read."""
        changed = _copy(node)
        changed["metadata"] = {**_part(changed, "metadata"), "name": name}
        return self._with_node_object(name, changed, ())

    def without_pods(self, node: str, uids: Collection[str]) -> Case:
        """Without these pods of the node."""
        gone = [(node, uid) for uid in uids]
        return replace(self, snapshot=self.snapshot.with_changes(Changes(pods_gone=gone)))

    def _with_node_object(self, name: str, changed: Object, pods: Collection[Pod]) -> Case | None:
        node = read_node(changed)
        if not isinstance(node, NodeInfo) or node.defect is not None:
            return None
        snapshot = self.snapshot.with_changes(Changes(nodes=(node,), pods=pods))
        return replace(self, snapshot=snapshot, node_objects={**self.node_objects, name: changed})


def _copy(obj: Object) -> Object:
    copied: Object = orjson.loads(orjson.dumps(obj))
    return copied


def _part(obj: Object, name: str) -> Object:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}
