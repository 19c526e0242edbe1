"""Warnings about a simulation's limits: parts that the dump lacks, and parts of a pod that are not evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from berth.scheduling.fields.reading import Object, part
from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.objects.cluster import KINDS, SERVICE
from berth.scheduling.objects.pod_group import POD_GROUP_LABELS
from berth.scheduling.objects.projection import CLAIMS
from berth_cli.placement.changed_objects import PodName, node_of, pod_name
from berth_cli.placement.queue import NO_MANIFESTS
from berth_cli.sources.dump.manifests import Manifests
from berth_cli.terminal.output import examples

NO_GANGS = GangsConfiguration()
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
_DUMP = "kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json"


def dump_warnings(
    objects: Sequence[Object],
    gangs: GangsConfiguration,
    manifests: Manifests = NO_MANIFESTS,
    created: Collection[PodName] = (),
) -> list[str]:
    """Return warnings about the pods to place. created: pods that are placed in addition to the manifests' pods."""
    pods = [obj for obj in objects if obj.get("kind") == "Pod" and not node_of(obj)]
    if manifests.pods:
        pods = [*manifests.pods, *(obj for obj in pods if pod_name(obj) in created)]
    kinds = Counter(str(obj.get("kind")) for obj in (*objects, *manifests.others))
    # Pods with the same warning share one line.
    found: dict[str, dict[str, None]] = {}
    for pod in pods:
        for text in pod_warnings(pod, kinds, gangs):
            found.setdefault(text, {})["/".join(pod_name(pod))] = None
    return [*manifests.warnings, *(f"{text} ({examples(list(names))})" for text, names in found.items())]


def eviction_warnings(evicted: int, budgets: Collection[object]) -> Iterator[str]:
    """Warn about a simulation that evicted this number of pods. budgets: the PodDisruptionBudgets of the dump."""
    if evicted and not budgets:
        yield (
            f"preemption: the dump has no PodDisruptionBudgets, so none protects a pod ({evicted} evicted); dump with: "
            f"{_DUMP}"
        )


def pod_warnings(pod: Object, kinds: Counter[str], gangs: GangsConfiguration = NO_GANGS) -> Iterator[str]:
    """Warn about a pod to place. pod: as it was given. kinds: the number of objects of each kind in the dump."""
    spec = part(pod, "spec")
    yield from unchecked_claims(pod)
    yield from _lacking(pod, spec, kinds)
    if gangs.enabled and not kinds["PodGroup"] and _names_pod_group(pod, spec):
        yield "its PodGroup: the dump has no PodGroups, so its gang is unknown; add kubectl get podgroups -A -o json"


def unchecked_claims(pod: Object) -> tuple[str, ...]:
    """Return warnings about the volumes and devices that the pod requests, which no rule checks."""
    spec = part(pod, "spec")
    volumes = spec.get("volumes")
    found = [
        f"spec.volumes[].{source}: volumes are not checked; the scheduler may reject more nodes"
        for volume in (volumes if isinstance(volumes, list) else ())
        for source in CLAIMS
        if isinstance(volume, dict) and source in volume
    ]
    if spec.get("resourceClaims"):
        found.append("spec.resourceClaims: claims are not checked; the scheduler may reject more nodes")
    return tuple(dict.fromkeys(found))


def _lacking(pod: Object, spec: Object, kinds: Counter[str]) -> Iterator[str]:
    """Yield warnings about kinds of objects that a rule for this pod needs and the dump lacks."""
    class_name = spec.get("priorityClassName")
    if class_name and class_name not in _SYSTEM_CLASSES and spec.get("priority") is None and not kinds["PriorityClass"]:
        yield f"spec.priorityClassName: the dump has no PriorityClasses, so the priority is 0; dump with: {_DUMP}"
    affinity = part(spec, "affinity")
    terms = str([affinity.get("podAffinity"), affinity.get("podAntiAffinity")])
    if "namespaceSelector" in terms and not kinds["Namespace"]:
        yield f"namespaceSelector: the dump has no Namespaces, so it matches none by label; dump with: {_DUMP}"
    workloads = _workloads_of(pod)
    if workloads and not spec.get("topologySpreadConstraints") and not any(kinds[kind] for kind in workloads):
        yield (
            f"the default spread needs {', '.join(workloads)}, and the dump has none, so it has no effect; "
            f"dump with: {_DUMP}"
        )


def _workloads_of(pod: Object) -> tuple[str, ...]:
    """Return the kinds whose selectors the default spread constraints use for this pod."""
    metadata = part(pod, "metadata")
    if metadata.get("ownerReferences"):
        return KINDS
    return (SERVICE,) if metadata.get("labels") else ()


def _names_pod_group(pod: Object, spec: Object) -> bool:
    labels = part(part(pod, "metadata"), "labels")
    return bool(spec.get("schedulingGroup")) or not POD_GROUP_LABELS.keys().isdisjoint(labels)
