"""PodGroups, and the names by which pods refer to them. Kubernetes has had PodGroups since 1.36; coscheduling has a
custom resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from berth.scheduling.fields.reading import (
    MalformedField,
    Object,
    UnreadableObject,
    name_or_empty,
    read_integer,
    read_object,
    read_object_list,
    read_string,
    read_time,
)
from berth.scheduling.objects.pod import Pod


class PodGroupApi(StrEnum):
    """The API group of a PodGroup. NATIVE: Kubernetes, v1alpha2 and v1beta1. COSCHEDULING: the custom resource of the
    scheduler plugin coscheduling; LEGACY: its API group before v0.25."""

    NATIVE = "scheduling.k8s.io"
    COSCHEDULING = "scheduling.x-k8s.io"
    LEGACY = "scheduling.sigs.k8s.io"


POD_GROUP_LABELS: Mapping[str, PodGroupApi] = {
    "scheduling.x-k8s.io/pod-group": PodGroupApi.COSCHEDULING,
    "pod-group.scheduling.sigs.k8s.io": PodGroupApi.LEGACY,
}
"""The labels of pods that name a PodGroup."""

GANG_ANNOTATION = "berth.dev/gang"
"""The annotation that names the gang of a pod without a PodGroup."""


def names_gang(pod: Pod) -> bool:
    """Return whether the pod names a gang, even if the gang's PodGroup does not exist."""
    return GANG_ANNOTATION in pod.annotations or names_pod_group(pod)


def names_pod_group(pod: Pod) -> bool:
    """Return whether the pod names a PodGroup, which then defines its gang instead of annotations."""
    return bool(pod.spec.scheduling_group) or not pod.label_set.labels.keys().isdisjoint(POD_GROUP_LABELS)


def gang_names(pod: Pod) -> tuple[str, ...]:
    """Return the distinct names that the pod gives for its gang: `spec.schedulingGroup` first, the annotation last."""
    found = [pod.spec.scheduling_group] if pod.spec.scheduling_group else []
    found += [pod.labels[label] for label in POD_GROUP_LABELS if label in pod.labels]
    found += [pod.annotations[GANG_ANNOTATION]] if GANG_ANNOTATION in pod.annotations else []
    return tuple(dict.fromkeys(found))


PodGroupKey = tuple[PodGroupApi, str, str]
"""API, namespace and name."""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A PodGroup of one of the APIs. minimum: the number of members to place together; None: one by one. timeout: in
    seconds. created_at: in seconds since the epoch. defect: the reason why it cannot be used, or empty."""

    api: PodGroupApi
    namespace: str
    name: str
    minimum: int | None = None
    topology_key: str = ""
    timeout: float | None = None
    priority: int | None = None
    created_at: float | None = None
    defect: str = ""

    @property
    def key(self) -> PodGroupKey:
        return self.api, self.namespace, self.name


SPEC_FIELDS = ("schedulingPolicy", "schedulingConstraints", "priority", "minMember", "scheduleTimeoutSeconds")
"""The fields of a PodGroup's spec that Berth reads."""


def read_pod_group(obj: object, api: PodGroupApi) -> PodGroup | UnreadableObject:
    """Read a PodGroup. An invalid spec field is stored as its `defect`, so that only this group's members wait."""
    try:
        whole = read_object(obj, "PodGroup")
        metadata = read_object(whole.get("metadata"), "PodGroup.metadata")
    except MalformedField as error:
        return UnreadableObject(str(error))
    namespace, name = name_or_empty(metadata.get("namespace")), name_or_empty(metadata.get("name"))
    created = read_time(metadata.get("creationTimestamp"))
    read = _native if api is PodGroupApi.NATIVE else _custom
    try:
        minimum, topology_key, timeout, priority = read(read_object(whole.get("spec"), "PodGroup.spec"))
    except MalformedField as error:
        return PodGroup(api, namespace, name, created_at=created, defect=str(error))
    return PodGroup(api, namespace, name, minimum, topology_key, timeout, priority, created)


_Fields = tuple[int | None, str, float | None, int | None]


def _native(spec: Object) -> _Fields:
    path = "PodGroup.spec.schedulingPolicy"
    gang = read_object(spec.get("schedulingPolicy"), path).get("gang")
    minimum = None
    if gang is not None:
        # The API server requires a minCount of at least 1.
        minimum = read_integer(read_object(gang, f"{path}.gang").get("minCount"), f"{path}.gang.minCount") or 0
    path = "PodGroup.spec.schedulingConstraints"
    topology = read_object_list(
        read_object(spec.get("schedulingConstraints"), path).get("topology"), f"{path}.topology"
    )
    key = read_string(topology[0].get("key"), f"{path}.topology[].key") if topology else ""
    return minimum, key, None, read_integer(spec.get("priority"), "PodGroup.spec.priority")


def _custom(spec: Object) -> _Fields:
    timeout = read_integer(spec.get("scheduleTimeoutSeconds"), "PodGroup.spec.scheduleTimeoutSeconds")
    minimum = read_integer(spec.get("minMember"), "PodGroup.spec.minMember") or 0
    return minimum, "", None if timeout is None else float(timeout), None
