"""Creates nodes and pods, and waits for decisions of the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .kubernetes_api import JsonObject, KubernetesApi

DEFAULT_SCHEDULER = "default-scheduler"
NAMESPACES = ("default", "kube-system")

DUMP_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/pods",
    "Namespace": "/api/v1/namespaces",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
}

# Much longer than any wait of a passing test.
WAIT_SECONDS = 30


@dataclass(frozen=True)
class Pod:
    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


@dataclass(frozen=True)
class Taint:
    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True)
class PodState:
    """The scheduling state of a pod at the API server. unschedulable: the reason, or None."""

    exists: bool
    node: str | None
    nominated_node: str | None
    terminating: bool
    unschedulable: str | None


@dataclass(frozen=True)
class PriorityClasses:
    """The names of three priority classes."""

    low: str
    middle: str
    high: str


def ready_node(name: str, labels: Mapping[str, str], resources: Mapping[str, str]) -> JsonObject:
    """Return a node that is ready and has room for 110 pods. resources: its other resources."""
    allocatable = {"pods": "110", **resources}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {
            "capacity": allocatable,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


class Cluster:
    """Actions and waits on one API server.

    Node names are `<name>-<suffix>` with a suffix per test: an extender's cache may still contain the nodes of the
    previous test.
    """

    def __init__(self, api: KubernetesApi, suffix: str) -> None:
        self._api = api
        self._suffix = suffix
        self.wait_seconds = WAIT_SECONDS

    def create_node(
        self,
        name: str,
        labels: Mapping[str, str] | None = None,
        *,
        cpu: str = "4",
        taints: Sequence[Taint] = (),
        extended: Mapping[str, str] | None = None,
    ) -> str:
        """Create a ready node and return its full name. `extended`: extended resources."""
        full_name = f"{name}-{self._suffix}"
        node = ready_node(full_name, labels or {}, {"cpu": cpu, "memory": "8Gi", **(extended or {})})
        spec = {"taints": [{"key": taint.key, "effect": taint.effect} for taint in taints]}
        self._api.create("/api/v1/nodes", {**node, "spec": spec})
        return full_name

    def delete_node(self, node: str) -> None:
        """Delete a node. Its pods stay: there is no controller."""
        self._api.delete(f"/api/v1/nodes/{node}")

    def relabel(self, node: str, labels: Mapping[str, str]) -> None:
        self._api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": dict(labels)}})

    def create_priority_class(self, name: str, value: int) -> str:
        body = {"metadata": {"name": name, "labels": {"e2e": "true"}}, "value": value}
        self._api.create("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        return name

    def create_pod(
        self,
        name: str,
        *,
        namespace: str = "default",
        cpu: str = "100m",
        priority_class: str | None = None,
        scheduler: str = DEFAULT_SCHEDULER,
        node: str | None = None,
        extended: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        scheduling_group: str | None = None,
        ends_at_once: bool = False,
        further: Mapping[str, object] | None = None,
    ) -> Pod:
        """Create a pod, pending or already on `node`.

        scheduling_group: the name of a PodGroup of Kubernetes. ends_at_once: a deletion does not wait for a kubelet.
        further: other fields of the spec.
        """
        # The API server requires a limit for an extended resource; the request defaults to it.
        resources = {"requests": {"cpu": cpu}, "limits": dict(extended or {})}
        spec: JsonObject = {
            "schedulerName": scheduler,
            "containers": [{"name": "app", "image": "app", "resources": resources}],
            **(further or {}),
        }
        if ends_at_once:
            spec["terminationGracePeriodSeconds"] = 0
        if priority_class is not None:
            spec["priorityClassName"] = priority_class
        if node is not None:
            spec["nodeName"] = node
        if scheduling_group is not None:
            spec["schedulingGroup"] = {"podGroupName": scheduling_group}
        metadata = {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
        path = f"/api/v1/namespaces/{namespace}/pods"
        created = self._api.create(path, {"metadata": metadata, "spec": spec})
        return Pod(namespace, name, created["metadata"]["uid"])

    def object(self, pod: Pod) -> JsonObject:
        return self._api.get(pod.path)

    def dump(self) -> list[JsonObject]:
        """Return the items of `kubectl get nodes,pods,pdb,pc,ns -A`."""
        return [
            {"kind": kind, **item}
            for kind, path in DUMP_PATHS.items()
            for item in self._api.get(path).get("items") or ()
        ]

    def state(self, pod: Pod) -> PodState:
        return _pod_state(self._api.get(pod.path))

    def exists(self, pod: Pod) -> bool:
        """Return whether the pod with this UID still exists."""
        listed = self._api.get(f"/api/v1/namespaces/{pod.namespace}/pods")["items"]
        return any(each["metadata"]["uid"] == pod.uid for each in listed)

    def wait_until_assigned(self, pod: Pod) -> str:
        """Wait until the pod is bound, and return its node."""
        state = self._wait_until(pod, "assigned", lambda state: state.node is not None)
        assert state.node is not None
        return state.node

    def wait_until_nominated(self, pod: Pod) -> str:
        """Wait until the pod is nominated, and return the node on which the scheduler preempts pods for it."""
        state = self._wait_until(pod, "nominated", lambda state: state.nominated_node is not None)
        assert state.nominated_node is not None
        return state.nominated_node

    def wait_until_evicted(self, pod: Pod) -> None:
        """Wait until the pod is terminating; it exists until `end_containers`."""
        self._wait_until(pod, "evicted", lambda state: state.terminating or not state.exists)

    def end_containers(self, pod: Pod) -> None:
        """Delete the pod at once, as the kubelet does after its containers have ended."""
        self._api.delete(pod.path, {"gracePeriodSeconds": "0"})

    def wait_for_failed_scheduling(self, pod: Pod, message: str) -> str:
        """Wait for a FailedScheduling event of the pod that begins with `message`, and return its whole message."""
        messages: list[str] = []
        for event in self._api.watch(
            f"/api/v1/namespaces/{pod.namespace}/events",
            {"fieldSelector": f"involvedObject.uid={pod.uid},reason=FailedScheduling"},
            seconds=self.wait_seconds,
        ):
            text: str = event["object"]["message"]
            if text.startswith(message):
                return text
            messages.append(text)
        raise AssertionError(f"no FailedScheduling event begins with {message!r}; events: {messages}")

    def wait_until_unschedulable(self, pod: Pod, message: str) -> str:
        """Wait until the message of the pod's condition begins with `message`, and return the whole message."""
        state = self._wait_until(pod, message, lambda state: (state.unschedulable or "").startswith(message))
        assert state.unschedulable is not None
        return state.unschedulable

    def clear(self) -> None:
        """Delete all pods, their budgets, nodes and the tests' priority classes."""
        for namespace in NAMESPACES:
            self._api.delete(f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": "0"})
        self._api.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets")
        self._api.delete("/api/v1/nodes")
        self._api.delete("/apis/scheduling.k8s.io/v1/priorityclasses", {"labelSelector": "e2e=true"})

    def _wait_until(self, pod: Pod, what: str, condition: Callable[[PodState], bool]) -> PodState:
        state: PodState | None = None
        for event in self._api.watch(
            f"/api/v1/namespaces/{pod.namespace}/pods",
            {"fieldSelector": f"metadata.name={pod.name}"},
            seconds=self.wait_seconds,
        ):
            state = _pod_state(event["object"], exists=event["type"] != "DELETED")
            if condition(state):
                return state
        raise AssertionError(f"pod {pod.name} was not {what} within {self.wait_seconds} s; it is {state}")


def _pod_state(pod: JsonObject, *, exists: bool = True) -> PodState:
    return PodState(
        exists=exists,
        node=pod["spec"].get("nodeName"),
        nominated_node=pod["status"].get("nominatedNodeName"),
        terminating="deletionTimestamp" in pod["metadata"],
        unschedulable=next(
            (
                each["message"]
                for each in pod["status"].get("conditions", ())
                if (each["type"], each.get("reason")) == ("PodScheduled", "Unschedulable")
            ),
            None,
        ),
    )
