"""Reads pods. Equal labels and specs are read only once, and pods share the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from sys import intern
from weakref import WeakValueDictionary

import orjson

from berth.scheduling.fields.node_affinity import read_node_affinity
from berth.scheduling.fields.pod_rules import read_pod_affinity, read_topology_spread
from berth.scheduling.fields.reading import (
    NO_ANNOTATIONS,
    NO_TEXT,
    MalformedField,
    Object,
    UnreadableObject,
    condition_in,
    name_or_empty,
    read_annotations,
    read_integer,
    read_list,
    read_object,
    read_string,
    read_string_map,
    read_time,
)
from berth.scheduling.fields.requests import read_host_ports, read_images, read_requests
from berth.scheduling.fields.taints import read_tolerations
from berth.scheduling.objects.pod import Controller, LabelSet, Pod, PodSpec
from berth.scheduling.objects.projection import (
    SHARED,
    WAITS_FOR_POOL,
    controller_of,
    decode_shared_fields,
    is_placed,
    shared_fields,
)

# If two threads read equal objects at once, both results may stay in memory: they are correct, but not shared.
_SPECS: WeakValueDictionary[bytes, PodSpec] = WeakValueDictionary()
_LABEL_SETS: WeakValueDictionary[bytes, LabelSet] = WeakValueDictionary()
_PREEMPTED = {"status": "True", "reason": "PreemptionByScheduler"}


def pod_spec(shared: Object) -> PodSpec:
    """Return the interned PodSpec of these shared fields. Raises MalformedField."""
    try:
        source = orjson.dumps(shared, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise MalformedField("Pod has keys or values that JSON has not") from error
    found = _SPECS.get(source)
    if found is None:
        source = compact(source)
        found = _SPECS[source] = _read_spec(shared, source)
    return found


def compact(encoded: bytes) -> bytes:
    """Copy bytes to keep them: orjson's buffer has about a thousand unused bytes."""
    return bytes(memoryview(encoded))


def _read_spec(shared: Object, source: bytes) -> PodSpec:
    metadata, spec, status = (read_object(shared.get(part), f"Pod.{part}") for part in ("metadata", "spec", "status"))
    namespace = name_or_empty(metadata.get("namespace"))
    affinity = read_object(spec.get("affinity"), "Pod.spec.affinity")
    selector = spec.get("nodeSelector")
    return PodSpec(
        namespace=namespace,
        scheduler_name=name_or_empty(spec.get("schedulerName")),
        priority=read_integer(spec.get("priority"), "Pod.spec.priority"),
        priority_class_name=name_or_empty(spec.get("priorityClassName")),
        preemption_policy=name_or_empty(spec.get("preemptionPolicy")),
        controller=_read_controller(metadata),
        requests=read_requests(spec, status),
        host_ports=read_host_ports(spec),
        pod_affinity=read_pod_affinity(affinity, namespace),
        node_selector=None if selector is None else read_string_map(selector, "Pod.spec.nodeSelector"),
        node_affinity=read_node_affinity(affinity.get("nodeAffinity"), "Pod.spec.affinity.nodeAffinity"),
        tolerations=read_tolerations(spec.get("tolerations")),
        topology_spread=read_topology_spread(spec.get("topologySpreadConstraints")),
        images=read_images(spec),
        gated=bool(read_list(spec.get("schedulingGates"), "Pod.spec.schedulingGates")),
        scheduling_group=_read_scheduling_group(spec.get("schedulingGroup")),
        source=source,
    )


def _read_controller(metadata: Object) -> Controller | None:
    owner = controller_of(metadata.get("ownerReferences"))
    if owner is None:
        return None
    return Controller(*(name_or_empty(owner.get(field)) for field in ("apiVersion", "kind", "name")))


def read_pod(obj: object) -> Pod | UnreadableObject:
    """Read a v1.Pod with all fields that its own placement needs. Fields of the object may be absent or null."""
    try:
        whole, metadata, spec, status = _parts(obj)
        shared = pod_spec(shared_fields(whole, placed=False))
        return pod_of(metadata, annotations_of(metadata), spec.get("nodeName"), status, labels_of(metadata), shared)
    except MalformedField as error:
        return UnreadableObject(str(error))


def read_pods(objs: Iterable[object]) -> tuple[list[Pod], list[UnreadableObject]]:
    """Read the pods of a cluster with `read_placed_pod`. Return the pods, and the objects that cannot be read."""
    reader = PodReader()
    results = [reader.read(obj) for obj in objs]
    return (
        [result for result in results if isinstance(result, Pod)],
        [result for result in results if isinstance(result, UnreadableObject)],
    )


def read_placed_pod(obj: object) -> Pod | UnreadableObject:
    """Read a v1.Pod of a cluster. If the pod is on a node, leave out the fields that only its own placement needs."""
    return PodReader().read(obj)


class PodReader:
    """Reads pods of a cluster one by one, from whole objects or compact pods. Not thread-safe. It caches specs and
    label sets by their text, which pods share, so reading 150,000 compact pods takes about a second."""

    def __init__(self) -> None:
        self._specs: dict[str, PodSpec] = {}
        self._label_sets: dict[bytes, LabelSet] = {}

    def read(self, obj: object) -> Pod | UnreadableObject:
        try:
            whole, metadata, spec, status = _parts(obj)
            source = whole.get(SHARED)
            if isinstance(source, str):
                shared = self._specs.get(source) or self._read_shared(source)
            else:
                shared = pod_spec(shared_fields(whole, placed=is_placed(whole)))
            pod = pod_of(
                metadata, annotations_of(metadata), spec.get("nodeName"), status, self._label_set(metadata), shared
            )
            return replace(pod, waits_for_pool=True) if whole.get(WAITS_FOR_POOL) is True else pod
        except MalformedField as error:
            return UnreadableObject(str(error))

    def _read_shared(self, source: str) -> PodSpec:
        try:
            shared = decode_shared_fields(source)
        except orjson.JSONDecodeError as error:
            raise MalformedField(f"Pod.{SHARED} is not JSON") from error
        found = self._specs[source] = pod_spec(read_object(shared, f"Pod.{SHARED}"))
        return found

    def _label_set(self, metadata: Object) -> LabelSet:
        try:
            key = orjson.dumps((metadata.get("namespace"), metadata.get("labels")))
        except orjson.JSONEncodeError:
            return labels_of(metadata)
        found = self._label_sets.get(key)
        if found is None:
            found = self._label_sets[compact(key)] = labels_of(metadata)
        return found


def label_set(namespace: str, labels: dict[str, str]) -> LabelSet:
    key = orjson.dumps((namespace, labels), option=orjson.OPT_SORT_KEYS)
    found = _LABEL_SETS.get(key)
    if found is None:
        found = _LABEL_SETS[compact(key)] = LabelSet(namespace, labels)
    return found


def _parts(obj: object) -> tuple[Object, Object, Object, Object]:
    if not isinstance(obj, dict):
        raise MalformedField("Pod is not an object")
    metadata, spec, status = obj.get("metadata"), obj.get("spec"), obj.get("status")
    if type(metadata) is dict and type(spec) is dict and type(status) is dict:
        return obj, metadata, spec, status
    return obj, read_object(metadata, "Pod.metadata"), read_object(spec, "Pod.spec"), read_object(status, "Pod.status")


def annotations_of(metadata: Object) -> Mapping[str, str]:
    return read_annotations(metadata) if "annotations" in metadata else NO_ANNOTATIONS


def pod_of(
    metadata: Object,
    annotations: Mapping[str, str],
    node_name: object,
    status: Object,
    labels: LabelSet,
    shared: PodSpec,
) -> Pod:
    """Make a pod from these parts. Raises MalformedField."""
    return Pod(
        name_or_empty(metadata.get("name")),
        name_or_empty(metadata.get("uid")),
        labels,
        shared,
        intern(read_string(node_name, "Pod.spec.nodeName")),
        name_or_empty(status.get("nominatedNodeName")),
        intern(name_or_empty(status.get("phase"))),
        read_time(status.get("startTime")),
        metadata.get("deletionTimestamp") is not None,
        "conditions" in status and condition_in(status, "DisruptionTarget").items() >= _PREEMPTED.items(),
        annotations,
        created_at=read_time(metadata.get("creationTimestamp")),
    )


def _read_scheduling_group(group: object) -> str:
    """Return the name of the PodGroup. For an invalid name, return NO_TEXT: the pod then names a missing PodGroup."""
    if group is None:
        return ""
    name = group.get("podGroupName") if isinstance(group, dict) else None
    return name if isinstance(name, str) and name else NO_TEXT


def labels_of(metadata: Object) -> LabelSet:
    """Return the interned labels of a pod, with its namespace. Raises MalformedField."""
    labels = read_string_map(metadata.get("labels"), "Pod.metadata.labels")
    try:
        return label_set(name_or_empty(metadata.get("namespace")), labels)
    except orjson.JSONEncodeError as error:
        raise MalformedField("Pod.metadata.labels has characters that JSON has not") from error
