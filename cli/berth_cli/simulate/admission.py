"""What the API server makes of a pod's manifest when the pod is created, as far as placement depends on it.

Stored objects have all of it, manifests have not. What it takes from objects that a dump has not is left out:
LimitRanges, the overhead of a RuntimeClass, webhooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

from berth.scheduling.fields.reading import Object, an_object, objects, string_map, text, texts
from berth.scheduling.fields.resources import is_pod_level
from berth.scheduling.objects import PriorityClass
from berth.scheduling.preemption.priority import priority_class_of

DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_NAMESPACE = "default"

_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE = "NoExecute"


class Refused(Exception):
    """The API server would not create the pod; the message says why."""


class PriorityClasses:
    """Those of the cluster."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._by_name = {each.name: each for each in classes}

    def resolve(self, spec: Object) -> None:
        """Give the spec the priority of its class, or of the default one. One that has a priority keeps it.

        Raises Refused for a class that does not exist.
        """
        if spec.get("priority") is not None:
            return
        name = text(spec.get("priorityClassName"), "Pod.spec.priorityClassName")
        found = priority_class_of(name, self._by_name)
        if found is None:
            raise Refused(f"no PriorityClass with name {name} was found")
        spec["priority"] = found.value
        if found.name:
            spec["priorityClassName"] = found.name
        if found.preemption_policy and spec.get("preemptionPolicy") is None:
            spec["preemptionPolicy"] = found.preemption_policy


def admitted(manifest: Object, classes: PriorityClasses) -> Object:
    """A v1.Pod as it would be stored. Of a stored one all stays as it is. Raises Malformed and Refused."""
    pod = deepcopy(manifest)
    metadata = pod["metadata"] = an_object(pod.get("metadata"), "Pod.metadata")
    spec = pod["spec"] = an_object(pod.get("spec"), "Pod.spec")
    identify(metadata)
    if not spec.get("schedulerName"):
        spec["schedulerName"] = DEFAULT_SCHEDULER
    classes.resolve(spec)
    for field in ("containers", "initContainers"):
        for container in objects(spec.get(field), f"Pod.spec.{field}"):
            _request_limits(container, f"Pod.spec.{field}[]")
            if spec.get("hostNetwork") is True:
                _take_host_ports(container, f"Pod.spec.{field}[].ports")
    _request_pod_limits(spec)
    _tolerate_for_a_while(spec)
    _merge_label_keys(spec, string_map(metadata.get("labels"), "Pod.metadata.labels"))
    return pod


def identify(metadata: Object) -> None:
    """A namespace and a UID, which hand-written objects lack: pods are told apart by the UID."""
    namespace = metadata.get("namespace") or DEFAULT_NAMESPACE
    metadata["namespace"] = namespace
    if not metadata.get("uid"):
        # A namespace has no dot, so no two pods share it.
        metadata["uid"] = f"{namespace}.{metadata.get('name')}"


def _request_limits(container: Object, path: str) -> None:
    """Where there is a limit and no request, the limit is the request."""
    resources = an_object(container.get("resources"), f"{path}.resources")
    limits = an_object(resources.get("limits"), f"{path}.resources.limits")
    if limits:
        resources["requests"] = limits | an_object(resources.get("requests"), f"{path}.resources.requests")


def _take_host_ports(container: Object, path: str) -> None:
    """On the network of the node, a container's port is the node's."""
    for port in objects(container.get("ports"), path):
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")


def _request_pod_limits(spec: Object) -> None:
    """The same for the pod as a whole, but for resources that a container asks for: these add up."""
    path = "Pod.spec.resources"
    resources = an_object(spec.get("resources"), path)
    limits = an_object(resources.get("limits"), f"{path}.limits")
    asked = {
        name
        for field in ("containers", "initContainers")
        for container in objects(spec.get(field), f"Pod.spec.{field}")
        for name in an_object(an_object(container.get("resources"), path).get("requests"), path)
    }
    found = {name: amount for name, amount in limits.items() if is_pod_level(name) and name not in asked}
    if found:
        resources["requests"] = found | an_object(resources.get("requests"), f"{path}.requests")


def _tolerate_for_a_while(spec: Object) -> None:
    """Nodes that are not ready or not reachable, for 300 s (admission plugin DefaultTolerationSeconds)."""
    tolerations = objects(spec.get("tolerations"), "Pod.spec.tolerations")
    for key in _NOT_READY:
        if not any(
            each.get("key") in (None, "", key) and each.get("effect") in (None, "", _NO_EXECUTE) for each in tolerations
        ):
            tolerations.append({"key": key, "operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": 300})
    spec["tolerations"] = tolerations


def _merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    """`matchLabelKeys` and `mismatchLabelKeys` of pod affinity: kube-scheduler reads the selector alone."""
    affinity = an_object(spec.get("affinity"), "Pod.spec.affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        path = f"Pod.spec.affinity.{kind}"
        rules = an_object(affinity.get(kind), path)
        terms = objects(rules.get("requiredDuringSchedulingIgnoredDuringExecution"), path)
        for weighted in objects(rules.get("preferredDuringSchedulingIgnoredDuringExecution"), path):
            terms.append(an_object(weighted.get("podAffinityTerm"), path))
        for term in terms:
            _merge_into(term, labels, path)


def _merge_into(term: Object, labels: Mapping[str, str], path: str) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    selector = an_object(selector, f"{path}.labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in texts(term.get(field), f"{path}.{field}")
        if key in labels
    ]
    before = objects(selector.get("matchExpressions"), f"{path}.labelSelector.matchExpressions")
    # A stored term has the keys and the expressions that were made of them.
    selector["matchExpressions"] = before + [each for each in added if each not in before]
