"""Pods: the pending pod, and pods on nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.parity.generator import node_affinity
from tests.parity.generator.containers import add_containers
from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Family, Feature
from tests.parity.generator.labels import NAMESPACE_SHARES, POD_LABELS, labels
from tests.parity.generator.pod_rules import constraints, preferred_terms, required_terms
from tests.parity.generator.priorities import CLASSES, set_priority
from tests.parity.generator.status import running, terminate
from tests.parity.generator.taints import tolerations

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

PREEMPTING_CLASSES = ("usual", "high", "urgent", "urgent", "urgent", "urgent")

Pod = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """The common properties of the pods of a case."""

    family: Family
    features: frozenset[Feature]
    node_names: list[str]


def pending(draw: Draw, setting: Setting) -> Pod:
    preempting = setting.family is Family.PREEMPTION
    pod = _pod(draw, setting, "pending", modest=draw.chance(0.9 if preempting else 0.6))
    spec, status = pod["spec"], pod["status"]
    features = setting.features
    if features & {Feature.TAINTS, Feature.PREFERRED_TAINTS, Feature.UNSCHEDULABLE}:
        spec["tolerations"] = tolerations(draw, unschedulable=Feature.UNSCHEDULABLE in features and draw.chance(0.5))
    if Feature.NODE_NAME in features and draw.chance(0.8):
        spec["nodeName"] = draw.one_of([*setting.node_names, "gone"])
    _add_node_affinity(draw, setting, spec)
    _add_pod_affinity(draw, setting, pod, required=0.15 if setting.family is Family.SCORE else 0.7, preferred=0.8)
    hard, soft = Feature.SPREADING in features, Feature.PREFERRED_SPREADING in features
    if hard or soft:
        own_labels = pod["metadata"].get("labels", {})
        spec["topologySpreadConstraints"] = constraints(draw, own_labels, hard=hard, soft=soft)
    if Feature.PRIORITIES in features:
        set_priority(draw, spec, PREEMPTING_CLASSES if preempting else tuple(CLASSES))
        if draw.chance(0.05):
            spec["preemptionPolicy"] = "Never"
    if Feature.NOMINATED in features and draw.chance(0.3):
        status["nominatedNodeName"] = draw.one_of([*setting.node_names, *setting.node_names, "gone"])
    return pod


def placed(draw: Draw, setting: Setting, name: str, node_name: str) -> Pod:
    pod = _pod(draw, setting, name, modest=draw.chance(0.7))
    spec = pod["spec"]
    spec["nodeName"] = node_name
    _add_pod_affinity(draw, setting, pod, required=0.25, preferred=0.25)
    if Feature.PRIORITIES in setting.features:
        set_priority(draw, spec, ("low", "low", "usual", "usual", "high"))
    pod["status"] = running(draw, setting.features, spec)
    if Feature.TERMINATING in setting.features and draw.chance(0.3 if setting.family is Family.PREEMPTION else 0.15):
        terminate(draw, pod["metadata"], pod["status"], by_scheduler=0.6)
    return pod


def nominated(draw: Draw, setting: Setting, name: str) -> Pod:
    """Draw a pod that waits for its victims to end, or a similar pod that does not count as nominated."""
    pod = _pod(draw, setting, name, modest=True)
    spec, status = pod["spec"], pod["status"]
    status["nominatedNodeName"] = draw.one_of(setting.node_names)
    _add_pod_affinity(draw, setting, pod, required=0.4, preferred=0.0)
    if Feature.PRIORITIES in setting.features:
        set_priority(draw, spec, ("usual", "high", "urgent"))
    match draw.weighted({"": 8, "another scheduler's": 1, "gated": 1, "finished": 1, "terminating": 1}):
        case "another scheduler's":
            spec["schedulerName"] = "another-scheduler"
        case "gated":
            spec["schedulingGates"] = [{"name": "example.com/quota"}]
        case "finished":
            status["phase"] = "Failed"
        case "terminating":
            terminate(draw, pod["metadata"], status, by_scheduler=0)
    return pod


def _pod(draw: Draw, setting: Setting, name: str, *, modest: bool) -> Pod:
    metadata: dict[str, Any] = {"name": name, "namespace": draw.weighted(NAMESPACE_SHARES), "uid": f"uid-{name}"}
    pod_labels = labels(draw, POD_LABELS)
    if pod_labels:
        metadata["labels"] = pod_labels
    spec: dict[str, Any] = {"schedulerName": "default-scheduler"}
    add_containers(draw, setting.features, spec, modest=modest)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _add_node_affinity(draw: Draw, setting: Setting, spec: dict[str, Any]) -> None:
    affinity: dict[str, Any] = {}
    if Feature.NODE_AFFINITY in setting.features:
        if draw.chance(0.25):
            spec["nodeSelector"] = node_affinity.node_selector(draw)
        if draw.chance(0.75):
            affinity[REQUIRED] = node_affinity.required(draw, setting.node_names)
    if Feature.PREFERRED_NODE_AFFINITY in setting.features:
        affinity[PREFERRED] = node_affinity.preferred(draw, setting.node_names)
    if affinity:
        spec.setdefault("affinity", {})["nodeAffinity"] = affinity


def _add_pod_affinity(draw: Draw, setting: Setting, pod: Pod, *, required: float, preferred: float) -> None:
    own_labels = pod["metadata"].get("labels", {})
    features = setting.features
    for kind, feature in (("podAffinity", Feature.AFFINITY), ("podAntiAffinity", Feature.ANTI_AFFINITY)):
        terms: dict[str, Any] = {}
        if feature in features and draw.chance(required):
            terms[REQUIRED] = required_terms(draw, own_labels)
        if Feature.PREFERRED_AFFINITY in features and draw.chance(preferred):
            terms[PREFERRED] = preferred_terms(draw, own_labels)
        if terms:
            pod["spec"].setdefault("affinity", {})[kind] = terms
