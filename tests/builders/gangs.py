"""Members of gangs, and PodGroups: as values for decisions, and as the objects of an API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi, read_pod_group
from tests.builders.pods import pod_object

ENABLED = GangsConfiguration(enabled=True)
CREATED = "2026-01-01T00:00:00Z"


def member_object(
    name: str = "train-0",
    gang: str | None = "train",
    size: object = 4,
    *,
    group: str | None = None,
    label: str | None = None,
    legacy_label: str | None = None,
    topology_key: str | None = None,
    timeout: str | None = None,
    created: str = CREATED,
    spec: Mapping[str, object] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a v1.Pod that names a gang: by annotations unless `gang` is None, and in the other given ways."""
    found: dict[str, Any] = pod_object(name, **fields)
    annotations: dict[str, object] = {} if gang is None else {"berth.dev/gang": gang}
    if gang is not None and size is not None:
        annotations["berth.dev/gang-size"] = str(size)
    if topology_key is not None:
        annotations["berth.dev/gang-topology-key"] = topology_key
    if timeout is not None:
        annotations["berth.dev/gang-timeout"] = timeout
    labels = {"scheduling.x-k8s.io/pod-group": label, "pod-group.scheduling.sigs.k8s.io": legacy_label}
    found["metadata"] |= {
        "annotations": annotations,
        "labels": {key: value for key, value in labels.items() if value is not None},
        "creationTimestamp": created,
    }
    if group is not None:
        found["spec"]["schedulingGroup"] = {"podGroupName": group}
    found["spec"] |= dict(spec or {})
    return found


def member(name: str = "train-0", gang: str | None = "train", size: object = 4, **fields: Any) -> Pod:
    found = read_pod(member_object(name, gang, size, **fields))
    assert isinstance(found, Pod)
    return found


def members(gang: str, size: int, count: int | None = None, **fields: Any) -> list[Pod]:
    """Return `count` members; by default as many as the gang needs."""
    return [member(f"{gang}-{index}", gang, size, **fields) for index in range(size if count is None else count)]


def native_group_object(name: str = "train", minimum: object = 4, **spec: object) -> dict[str, Any]:
    """Return a PodGroup of Kubernetes. If the minimum is None, its policy is `basic`."""
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": CREATED},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def custom_group_object(name: str = "train", minimum: object = 4, **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": CREATED},
        "spec": {"minMember": minimum, **spec},
    }


def pod_group(obj: object, api: PodGroupApi = PodGroupApi.NATIVE) -> PodGroup:
    """Return the PodGroup read from one of these objects."""
    found = read_pod_group(obj, api)
    assert isinstance(found, PodGroup)
    return found
