"""Pods as the API server would accept them, at its limits: any mixture of long lists, within 1.5 MB.

Labels, annotations and names keep to their syntax; of a pod's lists most have no limit but the size of the object.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product
from string import ascii_lowercase, digits

import orjson
from hypothesis import strategies as st

from tests.bench.cluster import Manifest, plain_pod
from tests.builders.hostile_pods import PREFERRED, REQUIRED, ZONE

MOST_BYTES = 1_500_000
"""etcd's limit of a request, which the API server passes on."""

MOST_ANNOTATION_BYTES = 256 * 1024
"""Of all keys and values together (`ValidateAnnotations`)."""

_KEYS = ("app", ZONE, "kubernetes.io/hostname", "kubernetes.io/os", "priority.lixueduan.com", "absent")
_ALPHABET = ascii_lowercase + digits

Items = Callable[[int], Manifest]


def _keys() -> st.SearchStrategy[Callable[[int], str]]:
    """A key for each index: one that nodes or pods have, or another each time."""
    known = st.sampled_from(_KEYS).map(lambda key: lambda _index: key)
    other = st.sampled_from(("x", "example.com/x")).map(lambda prefix: lambda index: f"{prefix}-{index}")
    return known | other


@st.composite
def _requirements(draw: st.DrawFn, *, of_nodes: bool) -> Items:
    operators = ["In", "NotIn", "Exists", "DoesNotExist", *(["Gt", "Lt"] if of_nodes else [])]
    operator, key = draw(st.sampled_from(operators)), draw(_keys())
    several = draw(st.integers(1, 3))

    def item(index: int) -> Manifest:
        found: Manifest = {"key": key(index), "operator": operator}
        if operator in ("In", "NotIn"):
            found["values"] = [f"v-{index}-{number}" for number in range(several)] + ["linux"]
        elif operator in ("Gt", "Lt"):
            found["values"] = [str(index)]
        return found

    return item


@st.composite
def _selector_terms(draw: st.DrawFn) -> Items:
    parts = draw(st.lists(_requirements(of_nodes=True), min_size=1, max_size=3))
    by_name = draw(st.sampled_from((None, "In", "NotIn")))

    def item(index: int) -> Manifest:
        found: Manifest = {"matchExpressions": [part(index) for part in parts]}
        if by_name is not None:
            found["matchFields"] = [{"key": "metadata.name", "operator": by_name, "values": [f"node-{index}"]}]
        return found

    return item


@st.composite
def _label_selectors(draw: st.DrawFn) -> Items:
    parts = draw(st.lists(_requirements(of_nodes=False), max_size=3))
    return lambda index: {"matchExpressions": [part(index) for part in parts]}


@st.composite
def _pod_terms(draw: st.DrawFn) -> Items:
    selector, key, everywhere = draw(_label_selectors()), draw(_keys()), draw(st.booleans())

    def item(index: int) -> Manifest:
        scope: Manifest = {"namespaceSelector": {}} if everywhere else {"namespaces": [f"team-{index % 40}"]}
        return {"topologyKey": key(index), "labelSelector": selector(index), **scope}

    return item


@st.composite
def _constraints(draw: st.DrawFn) -> Items:
    selector, key = draw(_label_selectors()), draw(_keys())
    action = draw(st.sampled_from(("ScheduleAnyway", "DoNotSchedule")))
    # The API server refuses two constraints with the same key and action.
    return lambda index: {
        "maxSkew": 1 + index % 3,
        "topologyKey": key(index) if index == 0 else f"key-{index}",
        "whenUnsatisfiable": action,
        "labelSelector": selector(index),
    }


@st.composite
def _tolerations(draw: st.DrawFn) -> Items:
    operator, key = draw(st.sampled_from(("Exists", "Equal"))), draw(_keys())
    effect = draw(st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute", "")))

    def item(index: int) -> Manifest:
        value = {"value": f"v-{index}"} if operator == "Equal" else {}
        return {"key": key(index), "operator": operator, **value, **({"effect": effect} if effect else {})}

    return item


@st.composite
def _containers(draw: st.DrawFn) -> Items:
    ports, resources = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    own = draw(st.booleans())

    def item(index: int) -> Manifest:
        requests: dict[str, str] = {f"example.com/r-{index if own else 0}-{number}": "1" for number in range(resources)}
        return {
            "name": f"c-{index}",
            "image": f"image-{index}",
            "ports": [
                {"containerPort": 1 + number, "hostPort": 1 + (3 * index + number) % 65_535} for number in range(ports)
            ],
            "resources": {"requests": {"cpu": "1m", **requests}, "limits": requests},
        }

    return item


def _short_keys(number: int) -> list[str]:
    return ["".join(each) for each in islice(product(_ALPHABET, repeat=4), number)]


@st.composite
def whole_pods(draw: st.DrawFn, most_bytes: int = MOST_BYTES) -> Manifest:
    """A pod of about that size at most, in which one to four fields share the room."""
    pod = plain_pod()
    spec, metadata = pod["spec"], pod["metadata"]
    affinity: dict[str, Manifest] = {"nodeAffinity": {}, "podAffinity": {}, "podAntiAffinity": {}}
    fields = draw(st.lists(st.sampled_from(sorted(_FIELDS)), min_size=1, max_size=4, unique=True))
    room = most_bytes // len(fields)
    for field in fields:
        make = draw(_FIELDS[field]())
        size = len(orjson.dumps(make(10_000))) + 1
        items = [make(index) for index in range(room // size)]
        match field:
            case "required terms":
                affinity["nodeAffinity"][REQUIRED] = {"nodeSelectorTerms": items}
            case "preferred terms":
                affinity["nodeAffinity"][PREFERRED] = [{"weight": 1, "preference": each} for each in items[:-1]]
            case "affinity" | "anti-affinity":
                kind = affinity["podAffinity" if field == "affinity" else "podAntiAffinity"]
                if draw(st.booleans()):
                    kind[REQUIRED] = items
                else:
                    kind[PREFERRED] = [{"weight": 1, "podAffinityTerm": each} for each in items]
            case "labels" | "annotations":
                size = 10
                most = MOST_ANNOTATION_BYTES // 4 if field == "annotations" else room
                metadata[field] = metadata.get(field, {}) | dict.fromkeys(_short_keys(min(room // size, most)), "")
            case "node selector":
                spec["nodeSelector"] = {f"label-{index}": "x" for index in range(room // 20)}
            case "containers" | "tolerations" | "topologySpreadConstraints":
                spec[field] = items
            case _:
                metadata["managedFields"] = items
    spec["affinity"] = {kind: found for kind, found in affinity.items() if found}
    return pod


def _nothing() -> st.SearchStrategy[Items]:
    return st.just(lambda index: {"fieldsV1": {f"f:{index}": {}}})


_FIELDS: dict[str, Callable[[], st.SearchStrategy[Items]]] = {
    "required terms": _selector_terms,
    "preferred terms": _selector_terms,
    "affinity": _pod_terms,
    "anti-affinity": _pod_terms,
    "topologySpreadConstraints": _constraints,
    "tolerations": _tolerations,
    "containers": _containers,
    "labels": _nothing,
    "annotations": _nothing,
    "node selector": _nothing,
    "managedFields": _nothing,
}
