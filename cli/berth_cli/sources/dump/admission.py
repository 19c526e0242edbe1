"""Applies the API server's defaults and admission to a new pod, as far as they affect placement. A pod from a manifest
lacks these fields; a stored pod has them. LimitRanges, the overhead of RuntimeClasses and webhooks are ignored, because
a dump lacks these objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace

from berth.cluster.dump_objects import DEFAULT_NAMESPACE, set_identity
from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.fields.reading import (
    MalformedField,
    Object,
    read_object,
    read_object_list,
    read_string,
    read_string_map,
    read_strings,
)
from berth.scheduling.fields.resources import is_pod_level
from berth.scheduling.objects import Pod, PriorityClass, read_pod
from berth_cli.sources.pod_document import pod_document

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"

NO_CLASS = PriorityClass("", 0, preemption_policy=PREEMPT_LOWER_PRIORITY)
"""The class of pods without a class name, in a cluster without a default class."""


_BUILT_IN = {
    name: PriorityClass(name, value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}

_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_EXECUTE = "NoExecute"


class AdmissionDenied(Exception):
    """The API server would reject the pod. The message names the reason."""


class PriorityClasses:
    """The PriorityClasses of the cluster."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._by_name = {each.name: each for each in classes}

    def resolve(self, spec: Object) -> None:
        """Set the priority from the pod's class or the default class, unless the spec has a priority.

        Raises AdmissionDenied for an unknown class.
        """
        if spec.get("priority") is not None:
            return
        name = read_string(spec.get("priorityClassName"), "Pod.spec.priorityClassName")
        found = priority_class_of(name, self._by_name)
        if found is None:
            raise AdmissionDenied(f"no PriorityClass with name {name} was found")
        spec["priority"] = found.value
        if found.name:
            spec["priorityClassName"] = found.name
        if found.preemption_policy and spec.get("preemptionPolicy") is None:
            spec["preemptionPolicy"] = found.preemption_policy


def priority_class_of(name: str, classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    """Return the class with this name as the API server's admission does; None if it does not exist. Without a name,
    return the default class; of several default classes, the class with the lowest value. Use it only for manifests: a
    stored pod has its priority as a number.
    """
    if name:
        return classes.get(name) or _BUILT_IN.get(name)
    defaults = [each for each in classes.values() if each.global_default]
    return min(defaults, key=lambda each: each.value, default=NO_CLASS)


def admit(manifest: Object, classes: PriorityClasses) -> Object:
    """Return the v1.Pod as the API server would store it; a stored pod is unchanged.

    Raises MalformedField and AdmissionDenied.
    """
    pod = deepcopy(manifest)
    metadata = pod["metadata"] = read_object(pod.get("metadata"), "Pod.metadata")
    spec = pod["spec"] = read_object(pod.get("spec"), "Pod.spec")
    set_identity(metadata)
    if not spec.get("schedulerName"):
        spec["schedulerName"] = DEFAULT_SCHEDULER
    classes.resolve(spec)
    for field in ("containers", "initContainers"):
        for container in read_object_list(spec.get(field), f"Pod.spec.{field}"):
            _default_requests(container, f"Pod.spec.{field}[]")
            if spec.get("hostNetwork") is True:
                _set_host_ports(container, f"Pod.spec.{field}[].ports")
    _default_pod_requests(spec)
    _add_default_tolerations(spec)
    _merge_label_keys(spec, read_string_map(metadata.get("labels"), "Pod.metadata.labels"))
    return pod


def with_defaults(pod: Pod, classes: PriorityClasses) -> Pod:
    """Return the pod with the API server's defaults, so that hand-written and stored pods have equal fields."""
    try:
        read = read_pod(admit(dict(pod_document(pod)), classes))
    except (MalformedField, AdmissionDenied):
        return pod
    return replace(read, waits_for_pool=pod.waits_for_pool) if isinstance(read, Pod) else pod


def _default_requests(container: Object, path: str) -> None:
    """Set each missing request to the limit of the same resource."""
    resources = read_object(container.get("resources"), f"{path}.resources")
    limits = read_object(resources.get("limits"), f"{path}.resources.limits")
    if limits:
        resources["requests"] = limits | read_object(resources.get("requests"), f"{path}.resources.requests")


def _set_host_ports(container: Object, path: str) -> None:
    """Use a container port also as the host port, because the pod has hostNetwork."""
    for port in read_object_list(container.get("ports"), path):
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")


def _default_pod_requests(spec: Object) -> None:
    """Use a pod-level limit also as the pod-level request, except for resources that a container requests."""
    path = "Pod.spec.resources"
    resources = read_object(spec.get("resources"), path)
    limits = read_object(resources.get("limits"), f"{path}.limits")
    requested = {
        name
        for field in ("containers", "initContainers")
        for container in read_object_list(spec.get(field), f"Pod.spec.{field}")
        for name in read_object(read_object(container.get("resources"), path).get("requests"), path)
    }
    found = {name: amount for name, amount in limits.items() if is_pod_level(name) and name not in requested}
    if found:
        resources["requests"] = found | read_object(resources.get("requests"), f"{path}.requests")


def _add_default_tolerations(spec: Object) -> None:
    """Add tolerations for not-ready and unreachable nodes for 300 s (admission plugin DefaultTolerationSeconds)."""
    tolerations = read_object_list(spec.get("tolerations"), "Pod.spec.tolerations")
    for key in _NOT_READY:
        if not any(
            each.get("key") in (None, "", key) and each.get("effect") in (None, "", _NO_EXECUTE) for each in tolerations
        ):
            tolerations.append({"key": key, "operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": 300})
    spec["tolerations"] = tolerations


def _merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    """Merge `matchLabelKeys` and `mismatchLabelKeys` of pod affinity into the selector that is evaluated."""
    affinity = read_object(spec.get("affinity"), "Pod.spec.affinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        path = f"Pod.spec.affinity.{kind}"
        rules = read_object(affinity.get(kind), path)
        terms = read_object_list(rules.get("requiredDuringSchedulingIgnoredDuringExecution"), path)
        for weighted in read_object_list(rules.get("preferredDuringSchedulingIgnoredDuringExecution"), path):
            terms.append(read_object(weighted.get("podAffinityTerm"), path))
        for term in terms:
            _merge_into(term, labels, path)


def _merge_into(term: Object, labels: Mapping[str, str], path: str) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    selector = read_object(selector, f"{path}.labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in read_strings(term.get(field), f"{path}.{field}")
        if key in labels
    ]
    before = read_object_list(selector.get("matchExpressions"), f"{path}.labelSelector.matchExpressions")
    # A stored term contains both the keys and the merged expressions.
    selector["matchExpressions"] = before + [each for each in added if each not in before]


def parse_name(text: str) -> tuple[str, str]:
    """Split [NAMESPACE/][pod/]POD. The default namespace is `default`. `kubectl get -o name` prints pod/POD."""
    before, _, name = text.rpartition("/")
    namespace = "" if before == "pod" else before.removesuffix("/pod")
    return namespace or DEFAULT_NAMESPACE, name
