"""The fields of a pod that a simulation looks at, and of which a misspelt one has no effect.

The lists are those of the Kubernetes API; a test compares them with its client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeAlias

Fields: TypeAlias = Mapping[str, "Fields | None"]
"""The fields of an object by name, with those of the objects in them, or in a list in them. None: not looked into."""


def _fields(names: str, **inner: Fields) -> Fields:
    return MappingProxyType({**dict.fromkeys(names.split()), **inner})


def _scheduling_rules(required: Fields, preferred: Fields) -> Fields:
    return MappingProxyType(
        {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }
    )


REQUIREMENT = _fields("key operator values")
LABEL_SELECTOR = _fields("matchLabels", matchExpressions=REQUIREMENT)
NODE_SELECTOR_TERM = _fields("", matchExpressions=REQUIREMENT, matchFields=REQUIREMENT)
NODE_SELECTOR = _fields("", nodeSelectorTerms=NODE_SELECTOR_TERM)
PREFERRED_TERM = _fields("weight", preference=NODE_SELECTOR_TERM)
NODE_AFFINITY = _scheduling_rules(NODE_SELECTOR, PREFERRED_TERM)
POD_AFFINITY_TERM = _fields(
    "namespaces topologyKey matchLabelKeys mismatchLabelKeys",
    labelSelector=LABEL_SELECTOR,
    namespaceSelector=LABEL_SELECTOR,
)
WEIGHTED_TERM = _fields("weight", podAffinityTerm=POD_AFFINITY_TERM)
POD_AFFINITY = _scheduling_rules(POD_AFFINITY_TERM, WEIGHTED_TERM)
AFFINITY = _fields("", nodeAffinity=NODE_AFFINITY, podAffinity=POD_AFFINITY, podAntiAffinity=POD_AFFINITY)
TOLERATION = _fields("key operator value effect tolerationSeconds")
SPREAD_CONSTRAINT = _fields(
    "maxSkew topologyKey whenUnsatisfiable minDomains nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys",
    labelSelector=LABEL_SELECTOR,
)
RESOURCES = _fields("requests limits claims")
PORT = _fields("containerPort hostIP hostPort name protocol")
CONTAINER = _fields(
    """
    args command env envFrom image imagePullPolicy lifecycle livenessProbe name readinessProbe resizePolicy
    restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
    terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """,
    ports=PORT,
    resources=RESOURCES,
)
POD_SPEC = _fields(
    """
    activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks ephemeralContainers
    evictionResponders hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets
    nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims
    restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup securityContext serviceAccount
    serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds volumes
    workloadRef
    """,
    affinity=AFFINITY,
    containers=CONTAINER,
    initContainers=CONTAINER,
    resources=RESOURCES,
    tolerations=TOLERATION,
    topologySpreadConstraints=SPREAD_CONSTRAINT,
)


OWNER_REFERENCE = _fields("apiVersion blockOwnerDeletion controller kind name uid")
OBJECT_META = _fields(
    """
    annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels
    managedFields name namespace resourceVersion selfLink uid
    """,
    ownerReferences=OWNER_REFERENCE,
)
POD = _fields("apiVersion kind status", metadata=OBJECT_META, spec=POD_SPEC)


def unknown_fields(pod: object) -> Iterator[str]:
    """What it has that no pod has: path, and the field that may be meant."""
    yield from _unknown("", pod, POD)


def _unknown(path: str, value: object, fields: Fields) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            if isinstance(each, dict):
                yield from _unknown(f"{path}[]", each, fields)
    if not isinstance(value, dict):
        return
    for name, content in value.items():
        inner, here = fields.get(name), f"{path}.{name}" if path else name
        if inner is not None:
            yield from _unknown(here, content, inner)
        elif name not in fields:
            closest = get_close_matches(str(name), fields, n=1)
            meant = f"; did you mean `{closest[0]}`?" if closest else ""
            yield f"{here}: a pod has no such field, so it has no effect{meant}"
