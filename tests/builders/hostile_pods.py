"""Pods that the API server would accept, each as costly as possible: one field is as long as a request allows.

Sizes are for a pod of about 1.5 MB, the API server's limit. A table maps each case to a function that makes the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

Manifest = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ZONE = "topology.kubernetes.io/zone"


def _requirement(key: str, operator: str, *values: str) -> Manifest:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _node_affinity(required: Iterable[Manifest] = (), preferred: Iterable[Manifest] = ()) -> Manifest:
    affinity: Manifest = {}
    if terms := list(required):
        affinity[REQUIRED] = {"nodeSelectorTerms": terms}
    if weighted := [{"weight": 1 + index % 100, "preference": term} for index, term in enumerate(preferred)]:
        affinity[PREFERRED] = weighted
    return {"affinity": {"nodeAffinity": affinity}}


def _in_zone_and_not(index: int) -> Manifest:
    return {
        "matchExpressions": [_requirement(ZONE, "Exists"), _requirement("kubernetes.io/arch", "In", f"arch-{index}")]
    }


def _spread(count: int, action: str, key: Callable[[int], str]) -> Manifest:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key(index),
                "whenUnsatisfiable": action,
                "labelSelector": {"matchExpressions": [_requirement("app", "NotIn", f"app-{index}-none")]},
            }
            for index in range(count)
        ]
    }


def _pod_term(index: int, key: str = ZONE, **more: Any) -> Manifest:
    selector = {"matchExpressions": [_requirement("app", "Exists"), _requirement("app", "In", f"none-{index}")]}
    return {"topologyKey": key, "labelSelector": selector, "namespaceSelector": {}, **more}


def _negative_term(index: int, key: str = ZONE) -> Manifest:
    found = [_requirement(f"absent-{index}", "DoesNotExist"), _requirement("app", "DoesNotExist")]
    return _pod_term(index, key, labelSelector={"matchExpressions": found})


def _pod_affinity(kind: str, required: Iterable[Manifest] = (), preferred: Iterable[Manifest] = ()) -> Manifest:
    found: Manifest = {REQUIRED: list(required)}
    found[PREFERRED] = [{"weight": 1, "podAffinityTerm": term} for term in preferred]
    return {"affinity": {kind: {name: terms for name, terms in found.items() if terms}}}


def _tolerations(count: int, make: Callable[[int], Manifest]) -> Manifest:
    return {"tolerations": [make(index) for index in range(count)]}


def _containers(count: int, make: Callable[[int], Manifest]) -> Manifest:
    return {"containers": [{"name": f"c-{index}", "image": f"image-{index}"} | make(index) for index in range(count)]}


SPECS: dict[str, Callable[[int], Manifest]] = {
    "node affinity: terms of one value": lambda count: _node_affinity(
        {"matchExpressions": [_requirement("kubernetes.io/arch", "In", f"arch-{index}")]} for index in range(count)
    ),
    "node affinity: terms of two conditions": lambda count: _node_affinity(
        _in_zone_and_not(index) for index in range(count // 2)
    ),
    "node affinity: terms of two common conditions": lambda count: _node_affinity(
        {
            "matchExpressions": [
                _requirement(ZONE, "In", "eu-central-1a", f"zone-{index}"),
                _requirement("kubernetes.io/os", "NotIn", "linux", f"os-{index}"),
            ]
        }
        for index in range(count // 2)
    ),
    "node affinity: terms of bounds": lambda count: _node_affinity(
        {"matchExpressions": [_requirement("priority.lixueduan.com", "Gt", str(1000 + index))]}
        for index in range(count)
    ),
    "node affinity: terms of absences": lambda count: _node_affinity(
        {
            "matchExpressions": [
                _requirement(f"absent-{index}", "DoesNotExist"),
                _requirement("kubernetes.io/os", "DoesNotExist"),
            ]
        }
        for index in range(count // 2)
    ),
    "node affinity: terms of names": lambda count: _node_affinity(
        {"matchFields": [_requirement("metadata.name", "In", f"node-{index}")]} for index in range(count)
    ),
    "node affinity: terms of excluded names": lambda count: _node_affinity(
        {
            "matchFields": [_requirement("metadata.name", "NotIn", f"node-{index}")],
            "matchExpressions": [_requirement("kubernetes.io/os", "DoesNotExist")],
        }
        for index in range(count // 2)
    ),
    "node affinity: one term of many conditions": lambda count: _node_affinity(
        [{"matchExpressions": [_requirement(f"absent-{index}", "NotIn", "x") for index in range(count)]}]
    ),
    "node affinity: one condition of many values": lambda count: _node_affinity(
        [{"matchExpressions": [_requirement("kubernetes.io/arch", "NotIn", *map(str, range(5 * count)))]}]
    ),
    "node affinity: preferred terms": lambda count: _node_affinity(
        preferred=(
            {"matchExpressions": [_requirement(ZONE, "In", "eu-central-1a", f"zone-{index}")]}
            for index in range(count // 2)
        )
    ),
    "node affinity: preferred terms of absences": lambda count: _node_affinity(
        preferred=(
            {"matchExpressions": [_requirement(f"absent-{index}", "DoesNotExist")]} for index in range(count // 2)
        )
    ),
    "node selector": lambda count: {"nodeSelector": {f"label-{index}": "x" for index in range(2 * count)}},
    "tolerations: of many keys": lambda count: _tolerations(
        count, lambda index: {"key": f"key-{index}", "operator": "Exists", "effect": "NoSchedule"}
    ),
    "tolerations: of many values": lambda count: _tolerations(
        count, lambda index: {"key": "dedicated", "operator": "Equal", "value": f"value-{index}"}
    ),
    "tolerations: of any key": lambda count: _tolerations(
        count, lambda index: {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": index}
    ),
    "spread: soft, of many keys": lambda count: _spread(count // 3, "ScheduleAnyway", lambda index: f"key-{index}"),
    "spread: hard, of many keys": lambda count: _spread(count // 3, "DoNotSchedule", lambda index: f"key-{index}"),
    "spread: soft, large selectors": lambda count: {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {
                    "matchExpressions": [
                        _requirement(f"absent-{index}", "NotIn", key.replace("/", ".")) for index in range(count // 4)
                    ]
                },
            }
            for key in (ZONE, "kubernetes.io/hostname", "topology.example.com/rack")
        ]
    },
    "affinity: terms": lambda count: _pod_affinity("podAffinity", map(_pod_term, range(count // 4))),
    "affinity: terms that hold everywhere": lambda count: _pod_affinity(
        "podAffinity",
        (
            _pod_term(0, labelSelector={"matchExpressions": [_requirement("app", "NotIn", f"none-{index}")]})
            for index in range(count // 4)
        ),
    ),
    "affinity: terms of many keys": lambda count: _pod_affinity(
        "podAffinity", (_pod_term(0, f"key-{index}", labelSelector={}) for index in range(count // 4))
    ),
    "affinity: preferred terms": lambda count: _pod_affinity(
        "podAffinity", preferred=map(_pod_term, range(count // 4))
    ),
    "affinity: preferred terms of absences": lambda count: _pod_affinity(
        "podAffinity", preferred=map(_negative_term, range(count // 4))
    ),
    "affinity: preferred terms that hold everywhere": lambda count: _pod_affinity(
        "podAffinity",
        preferred=(
            _pod_term(0, labelSelector={"matchExpressions": [_requirement("app", "NotIn", f"none-{index}")]})
            for index in range(count // 4)
        ),
    ),
    "anti-affinity: terms": lambda count: _pod_affinity("podAntiAffinity", map(_pod_term, range(count // 4))),
    "anti-affinity: terms of absences": lambda count: _pod_affinity(
        "podAntiAffinity", map(_negative_term, range(count // 4))
    ),
    "anti-affinity: terms of many keys": lambda count: _pod_affinity(
        "podAntiAffinity", (_pod_term(index, f"key-{index}") for index in range(count // 4))
    ),
    "anti-affinity: terms of many namespaces": lambda count: _pod_affinity(
        "podAntiAffinity",
        [_pod_term(0, namespaces=[f"team-{index}" for index in range(4 * count)], namespaceSelector=None)],
    ),
    "anti-affinity: one term of many conditions": lambda count: _pod_affinity(
        "podAntiAffinity",
        [
            _pod_term(
                0,
                labelSelector={
                    "matchExpressions": [_requirement(f"absent-{index}", "DoesNotExist") for index in range(count)]
                },
            )
        ],
    ),
    "host ports": lambda count: {
        "hostNetwork": False,
        "containers": [
            {
                "name": "c",
                "image": "image",
                "ports": [{"containerPort": 1, "hostPort": 1 + index} for index in range(count)],
            }
        ],
    },
    "containers": lambda count: _containers(
        count // 4, lambda index: {"resources": {"requests": {"cpu": f"{1 + index % 3}m"}}}
    ),
    "resources of many names": lambda count: _containers(
        1, lambda _: {"resources": {"requests": {f"example.com/resource-{index}": "1" for index in range(count)}}}
    ),
    "labels": lambda count: {},
}

COUNT = 18_000
"""Base of the number of entries in a case; with this base, a pod has 0.7 to 1.5 MB."""


def hostile_pod(name: str, pod: Manifest, count: int = COUNT) -> Manifest:
    """Return a pod like the given pod, with the field of the case at its limit."""
    found = deepcopy(pod)
    found["spec"] |= SPECS[name](count)
    if name == "labels":
        found["metadata"]["labels"] |= {f"label-{index}": "x" for index in range(2 * count)}
    return found
