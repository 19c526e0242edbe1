"""JSON values of every kind, and mutations of valid requests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.builders.nodes import labelled_object, node_object
from tests.builders.pods import pod_object
from tests.builders.requests import binding, cache_mode, full_mode, victims_by_uid, victims_in_full

NAMES = ("n10", "n20", "plain", "worded", "never-heard-of", "", "n10 ")

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from([*NAMES, "10", "uid-train-0", "kube-system"])
)

keys = st.text(max_size=6) | st.sampled_from(
    [
        "Pod",
        "pod",
        "NODENAMES",
        "NodeNames",
        "Nodes",
        "items",
        "metadata",
        "name",
        "labels",
        "spec",
        "priority",
        "UID",
        "uid",
        "Pods",
        "PodName",
        "Node",
        "NodeNameToVictims",
        "NodeNameToMetaVictims",
        "NumPDBViolations",
    ]
)

json_values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)

VALID: dict[str, list[dict[str, object]]] = {
    "listing": [
        cache_mode(["n10", "n20", "plain", "worded", "never-heard-of"]),
        full_mode([labelled_object("n10", "10"), node_object("plain"), labelled_object("worded", "high")]),
        cache_mode(["n10"], pod_object(priority=7, controller_kind="DaemonSet", nominated_node="n10")),
    ],
    "bind": [binding(), binding("train-1", uid="uid-train-1")],
    "preempt": [
        victims_by_uid({"n10": ["v1", "v2"], "n20": []}, violations=1),
        victims_in_full({"n10": [pod_object("v1", priority=3), pod_object("v2")], "n20": [pod_object("v3")]}),
    ],
}


@st.composite
def mutated(draw: st.DrawFn, kind: str) -> Any:
    """Draw a valid request with up to four of its parts, at any depth, replaced, removed, renamed, doubled or added."""
    return draw(changed(draw(st.sampled_from(VALID[kind]))))


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Change up to four parts of the value, at any depth: replaced, removed, renamed, doubled or added."""
    for _ in range(draw(st.integers(1, 4))):
        value = _changed(draw, value)
    return value


def _changed(draw: st.DrawFn, value: Any) -> Any:
    """Return the value with one change, at any depth. Nothing is changed in place."""
    inside = isinstance(value, dict | list) and bool(value)
    if not inside or draw(st.integers(0, 4)) == 0:
        return draw(json_values)
    if isinstance(value, list):
        return _changed_list(draw, value)
    key = draw(st.sampled_from(sorted(value)))
    rest = {name: item for name, item in value.items() if name != key}
    match draw(st.sampled_from(["change", "change", "change", "remove", "rename", "add"])):
        case "remove":
            return rest
        case "rename":
            return rest | {draw(st.sampled_from([key.lower(), key.upper(), key.swapcase()]) | keys): value[key]}
        case "add":
            return value | {draw(keys): draw(json_values)}
        case _:
            return rest | {key: _changed(draw, value[key])}


def _changed_list(draw: st.DrawFn, value: list[Any]) -> list[Any]:
    index = draw(st.integers(0, len(value) - 1))
    match draw(st.sampled_from(["change", "change", "remove", "double", "add"])):
        case "remove":
            return value[:index] + value[index + 1 :]
        case "double":
            return [*value, value[index]]
        case "add":
            return [*value[:index], draw(json_values), *value[index:]]
        case _:
            return [*value[:index], _changed(draw, value[index]), *value[index + 1 :]]
