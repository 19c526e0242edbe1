"""The nodes that a NodePool of Karpenter may add for a pod, of any size.

Karpenter chooses the values of a node's labels so that the pod fits, among those that the pool's requirements leave
open. Not read: limits, minValues, and which instance types there are. A startup taint is gone before the pod is placed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice, product

from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.selectors import InvalidRequirement, Operator, Requirement, equals, requirement
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot

KIND = "NodePool"
MOST_NODES = 20
"""Combinations of values that are tried for one pool."""

WELL_KNOWN = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/windows-build",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "karpenter.sh/capacity-type",
    }
)
"""Labels that Karpenter gives a node whether the pool names them or not, with the value that the pod asks for."""

PROVIDERS = (
    "karpenter.k8s.aws/",
    "karpenter.azure.com/",
    "karpenter.k8s.gcp/",
    "eks.amazonaws.com/",
    "topology.k8s.aws/",
)
"""The same for what a provider says of its instance types."""

Requirements = Mapping[str, Sequence[Requirement]]


def nodes_of_pool(pool: Object, pod: Pod, snapshot: Snapshot) -> Iterator[Object]:
    """Nodes without allocatable, each with other labels."""
    template = _mapping(_mapping(pool, "spec"), "template")
    name = str(_mapping(pool, "metadata").get("name") or "pool")
    fixed = {**_mapping(_mapping(template, "metadata"), "labels"), "karpenter.sh/nodepool": name}
    own = _by_key(_read(_mapping(template, "spec").get("requirements")))
    found = chain.from_iterable(
        _labels(own, wanted, _domains(pod, snapshot), fixed.keys()) for wanted in _wanted_by(pod)
    )
    taints = _mapping(template, "spec").get("taints") or []
    for labels in islice(_distinct(found), MOST_NODES):
        yield {
            "kind": "Node",
            "metadata": {"name": name, "labels": {**labels, **fixed}},
            "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }


def _labels(
    own: Requirements, wanted: Requirements, domains: Mapping[str, Sequence[str]], fixed: Iterable[str]
) -> Iterator[dict[str, str]]:
    """Labels that the pool's requirements allow, first those that the pod asks for."""
    known = [key for key in dict.fromkeys((*own, *wanted, *domains)) if key in own or _is_known(key)]
    # The last keys change first: they matter to the pod.
    keys = sorted((key for key in known if key not in fixed), key=lambda key: (key in wanted or key in domains, key))
    options = [_values(own.get(key, ()), wanted.get(key, ()), domains.get(key, ())) for key in keys]
    for values in product(*options):
        yield {key: value for key, value in zip(keys, values, strict=True) if value is not None}


def _values(own: Sequence[Requirement], wanted: Sequence[Requirement], domain: Sequence[str]) -> Sequence[str | None]:
    """Of one label: values that the pool allows and the pod asks for; where there are none, one that the pool allows.
    None: the node has no such label."""
    if any(each.operator is Operator.DOES_NOT_EXIST for each in own):
        return (None,)
    named = [*_named(own), *_named(wanted), *domain]
    if not named and not own:
        return (None,)
    allowed = [value for value in dict.fromkeys((*named, _any(own))) if all(_allows(each, value) for each in own)]
    asked = [value for value in allowed if all(_allows(each, value) for each in wanted)]
    return asked or allowed[:1] or (None,)


def _named(requirements: Iterable[Requirement]) -> Iterator[str]:
    for each in requirements:
        match each.operator:
            case Operator.IN:
                yield from sorted(each.values)
            case Operator.GT:
                yield str(each.bound + 1)
            case Operator.LT:
                yield str(each.bound - 1)
            case _:
                pass


def _any(own: Sequence[Requirement]) -> str:
    """A number, as Karpenter takes one for a label that may have any value."""
    denied = {value for each in own if each.operator is Operator.NOT_IN for value in each.values}
    return next(str(number) for number in count() if str(number) not in denied)


def _allows(each: Requirement, value: str) -> bool:
    return each.matches({each.key: value})


def _wanted_by(pod: Pod) -> list[Requirements]:
    """The labels that nodeSelector and each term of the required affinity ask for."""
    selected = [equals(key, value) for key, value in (pod.spec.node_selector or {}).items()]
    required = pod.spec.node_affinity.required
    terms = [term.expressions for term in required.terms if not term.invalid] if required is not None else [()]
    return [_by_key((*selected, *expressions)) for expressions in terms or [()]]


def _domains(pod: Pod, snapshot: Snapshot) -> Mapping[str, Sequence[str]]:
    """The topology keys of the pod's rules about other pods, with the values that nodes have."""
    affinity = pod.spec.pod_affinity
    keys = [each.topology_key for each in pod.spec.topology_spread]
    keys += [each.topology_key for each in (*affinity.required, *affinity.anti_required)]
    return {
        key: sorted({node.labels[key] for node in snapshot.nodes.values() if key in node.labels})
        for key in dict.fromkeys(keys)
    }


def _is_known(key: str) -> bool:
    return key in WELL_KNOWN or key.startswith(PROVIDERS)


def _read(listed: object) -> Iterator[Requirement]:
    """Those that can be read."""
    for each in listed if isinstance(listed, list) else ():
        values = each.get("values") if isinstance(each, dict) else None
        texts = tuple(map(str, values)) if isinstance(values, list) else ()
        read = requirement(str(each.get("key")), str(each.get("operator")), texts) if isinstance(each, dict) else None
        if read is not None and not isinstance(read, InvalidRequirement):
            yield read


def _by_key(requirements: Iterable[Requirement]) -> Requirements:
    found: dict[str, list[Requirement]] = {}
    for each in requirements:
        found.setdefault(each.key, []).append(each)
    return found


def _distinct(found: Iterable[dict[str, str]]) -> Iterator[dict[str, str]]:
    seen = set()
    for labels in islice(found, MOST_NODES * MOST_NODES):
        key = frozenset(labels.items())
        if key not in seen:
            seen.add(key)
            yield labels


def _mapping(obj: Object, name: str) -> Object:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}
