"""What a simulation cannot see: fields that no pod has, and what the dump lacks or the simulation leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from berth.scheduling.fields.reading import Object

_POD_SPEC_FIELDS = """
activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
ephemeralContainers evictionResponders hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName
readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup
securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef
"""
_CONTAINER_FIELDS = """
args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy resources
restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
terminationMessagePolicy tty volumeDevices volumeMounts workingDir
"""
POD_SPEC_FIELDS = frozenset(_POD_SPEC_FIELDS.split())
CONTAINER_FIELDS = frozenset(_CONTAINER_FIELDS.split())
AFFINITY_FIELDS = frozenset(("nodeAffinity", "podAffinity", "podAntiAffinity"))
RESOURCES_FIELDS = frozenset(("requests", "limits", "claims"))

_SPREAD_KINDS = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
_DUMP = "kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json"


def pod_warnings(pods: Iterable[Object], kinds: Counter[str]) -> list[str]:
    """About pods that are to be placed, as they were given; kinds: how many objects of each kind the dump has."""
    found: Counter[str] = Counter()
    for pod in pods:
        # What several pods have in common is said once.
        found.update(list(dict.fromkeys(_of_pod(pod, kinds))))
    return [f"{text} ({count} pods)" if count > 1 else text for text, count in found.items()]


def _of_pod(pod: Object, kinds: Counter[str]) -> Iterator[str]:
    spec = _mapping(pod.get("spec"))
    yield from _unknown_fields(spec)
    yield from unchecked_claims(pod)
    yield from _lacking(pod, spec, kinds)


def _unknown_fields(spec: Object) -> Iterator[str]:
    yield from _unknown("spec", spec, POD_SPEC_FIELDS)
    yield from _unknown("spec.affinity", _mapping(spec.get("affinity")), AFFINITY_FIELDS)
    for part in ("initContainers", "containers"):
        containers = spec.get(part)
        for container in containers if isinstance(containers, list) else ():
            yield from _unknown(f"spec.{part}[]", _mapping(container), CONTAINER_FIELDS)
            resources = _mapping(_mapping(container).get("resources"))
            yield from _unknown(f"spec.{part}[].resources", resources, RESOURCES_FIELDS)


def _unknown(path: str, fields: Object, known: frozenset[str]) -> Iterator[str]:
    for name in fields:
        if name not in known:
            closest = get_close_matches(str(name), known, n=1)
            meant = f"; did you mean `{closest[0]}`?" if closest else ""
            yield f"{path}.{name}: a pod has no such field, so it has no effect{meant}"


def unchecked_claims(pod: Object) -> tuple[str, ...]:
    """What the pod asks for of volumes and devices, which no rule here looks at."""
    spec = _mapping(pod.get("spec"))
    volumes = spec.get("volumes")
    found = [
        f"spec.volumes[].{source}: volumes are not checked; the scheduler may reject more nodes"
        for volume in (volumes if isinstance(volumes, list) else ())
        for source in ("persistentVolumeClaim", "ephemeral")
        if source in _mapping(volume)
    ]
    if spec.get("resourceClaims"):
        found.append("spec.resourceClaims: claims are not checked; the scheduler may reject more nodes")
    return tuple(dict.fromkeys(found))


def _lacking(pod: Object, spec: Object, kinds: Counter[str]) -> Iterator[str]:
    """Kinds that the dump lacks, and that a rule about this pod needs."""
    class_name = spec.get("priorityClassName")
    if class_name and class_name not in _SYSTEM_CLASSES and spec.get("priority") is None and not kinds["PriorityClass"]:
        yield f"spec.priorityClassName: the dump has no PriorityClasses, so the priority is 0; dump with: {_DUMP}"
    affinity = _mapping(spec.get("affinity"))
    terms = str([affinity.get("podAffinity"), affinity.get("podAntiAffinity")])
    if "namespaceSelector" in terms and not kinds["Namespace"]:
        yield f"namespaceSelector: the dump has no Namespaces, so it matches none by label; dump with: {_DUMP}"
    owners = _mapping(pod.get("metadata")).get("ownerReferences")
    if owners and not spec.get("topologySpreadConstraints") and not any(kinds[kind] for kind in _SPREAD_KINDS):
        yield (
            f"the default spread needs {', '.join(_SPREAD_KINDS)}, and the dump has none, so it has no effect; "
            f"dump with: {_DUMP}"
        )


def _mapping(value: object) -> Object:
    return value if isinstance(value, dict) else {}
