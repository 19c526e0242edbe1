"""Reading what pods of a controller have in common, into one object for all of them."""

from __future__ import annotations

from weakref import WeakValueDictionary

import orjson

from berth.scheduling.objects.containers import read_host_ports, read_images
from berth.scheduling.objects.node_affinity import read_node_affinity
from berth.scheduling.objects.pod import Controller, PodSpec
from berth.scheduling.objects.pod_affinity import read_pod_affinity
from berth.scheduling.objects.pod_fields import controller_of
from berth.scheduling.objects.reading import (
    Malformed,
    Object,
    a_list,
    an_object,
    integer,
    name_or_empty,
    string_map,
)
from berth.scheduling.objects.requests import read_requests
from berth.scheduling.objects.taints import read_tolerations
from berth.scheduling.objects.topology_spread import read_topology_spread

# What two threads read at once may end up twice in memory: that costs a comparison, and is never wrong.
_SPECS: WeakValueDictionary[bytes, PodSpec] = WeakValueDictionary()


def pod_spec(shared: Object) -> PodSpec:
    """The one PodSpec of a shared part. Raises Malformed."""
    try:
        source = orjson.dumps(shared, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise Malformed("Pod has keys or values that JSON has not") from error
    found = _SPECS.get(source)
    if found is None:
        source = in_little_room(source)
        found = _SPECS[source] = _read_spec(shared, source)
    return found


def in_little_room(encoded: bytes) -> bytes:
    """The same bytes, to be kept: orjson returns them at the head of some thousand unused ones."""
    return bytes(memoryview(encoded))


def _read_spec(shared: Object, source: bytes) -> PodSpec:
    metadata, spec, status = (an_object(shared.get(part), f"Pod.{part}") for part in ("metadata", "spec", "status"))
    namespace = name_or_empty(metadata.get("namespace"))
    affinity = an_object(spec.get("affinity"), "Pod.spec.affinity")
    selector = spec.get("nodeSelector")
    return PodSpec(
        namespace=namespace,
        scheduler_name=name_or_empty(spec.get("schedulerName")),
        priority=integer(spec.get("priority"), "Pod.spec.priority"),
        priority_class_name=name_or_empty(spec.get("priorityClassName")),
        preemption_policy=name_or_empty(spec.get("preemptionPolicy")),
        controller=_read_controller(metadata),
        requests=read_requests(spec, status),
        host_ports=read_host_ports(spec),
        pod_affinity=read_pod_affinity(affinity, namespace),
        node_selector=None if selector is None else string_map(selector, "Pod.spec.nodeSelector"),
        node_affinity=read_node_affinity(affinity.get("nodeAffinity"), "Pod.spec.affinity.nodeAffinity"),
        tolerations=read_tolerations(spec.get("tolerations")),
        topology_spread=read_topology_spread(spec.get("topologySpreadConstraints")),
        images=read_images(spec),
        gated=bool(a_list(spec.get("schedulingGates"), "Pod.spec.schedulingGates")),
        source=source,
    )


def _read_controller(metadata: Object) -> Controller | None:
    owner = controller_of(metadata.get("ownerReferences"))
    if owner is None:
        return None
    return Controller(*(name_or_empty(owner.get(field)) for field in ("apiVersion", "kind", "name")))
