"""PodGroups of coscheduling and of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.e2e.gangs.members import PLACED_SECONDS, wait_until
from tests.e2e.kubernetes.control_plane import KUBERNETES
from tests.e2e.kubernetes.kubernetes_api import JsonObject, KubernetesApi


@dataclass(frozen=True)
class NativeGangs:
    """version: of `scheduling.k8s.io`. gates: feature gates that kube-apiserver and kube-scheduler need for gangs.
    condition: the type of condition of a PodGroup whose members have passed all filters."""

    version: str
    gates: tuple[str, ...]
    condition: str


NATIVE = {
    "1.36": NativeGangs("v1alpha2", ("GenericWorkload=true", "GangScheduling=true"), "PodGroupScheduled"),
    # In this version GenericWorkload includes GangScheduling.
    "1.37": NativeGangs("v1beta1", ("GenericWorkload=true",), "PodGroupInitiallyScheduled"),
}

COSCHEDULING_LABEL = "scheduling.x-k8s.io/pod-group"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_COSCHEDULING = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"


class NativePodGroup:
    """A PodGroup that exists until the context exits."""

    def __init__(self, api: KubernetesApi, name: str, minimum: int) -> None:
        self._api = api
        version = NATIVE[KUBERNETES].version
        self._collection = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
        self._object = {
            "apiVersion": f"scheduling.k8s.io/{version}",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
        }
        self._name = name

    def __enter__(self) -> NativePodGroup:
        self._created: JsonObject = self._api.create(self._collection, self._object)
        return self

    def __exit__(self, *_: object) -> None:
        self._api.delete(f"{self._collection}/{self._name}")

    def scheduled(self) -> list[str]:
        """Return every value of the condition since the group was created, in order."""
        found = []
        query = {
            "fieldSelector": f"metadata.name={self._name}",
            "resourceVersion": self._created["metadata"]["resourceVersion"],
        }
        for event in self._api.watch(self._collection, query, seconds=1):
            assert event["type"] in ("ADDED", "MODIFIED"), event
            conditions: Sequence[JsonObject] = event["object"].get("status", {}).get("conditions", ())
            found += [each["status"] for each in conditions if each["type"] == NATIVE[KUBERNETES].condition]
        return found


@dataclass(frozen=True)
class CoschedulingPodGroups:
    """PodGroups of coscheduling, while their API is served."""

    api: KubernetesApi

    def create(self, name: str, minimum: int) -> None:
        group = {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"minMember": minimum},
        }
        self.api.create(_COSCHEDULING, group)

    def delete(self, name: str) -> None:
        self.api.delete(f"{_COSCHEDULING}/{name}")


@contextmanager
def coscheduling(api: KubernetesApi) -> Iterator[CoschedulingPodGroups]:
    """Serve the API of coscheduling's PodGroups until the context exits."""
    definition = custom_resource_of_pod_groups()
    path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
    api.create(_DEFINITIONS, definition)
    wait_until("PodGroups are served", lambda: api.serves(_COSCHEDULING), PLACED_SECONDS)
    yield CoschedulingPodGroups(api)
    api.delete(path)
    wait_until("PodGroups are not served", lambda: not api.serves(path), PLACED_SECONDS)


def custom_resource_of_pod_groups() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "podgroups.scheduling.x-k8s.io",
            "annotations": {
                "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
            },
        },
        "spec": {
            "group": "scheduling.x-k8s.io",
            "names": {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
            "scope": "Namespaced",
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
