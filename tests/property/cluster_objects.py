"""Objects of a small cluster as the cache keeps them, drawn so that they meet: few names, many ways to be."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import BASE_RESOURCES, SPREAD_RESOURCES
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.leader import key_of

NODES = ["n0", "n1", "n2"]
TRIMS = {resource.name: trim for resource, trim in projections(RequiredFields(spreading=True, images=True)).items()}
RESOURCES = [resource.name for resource in (*BASE_RESOURCES, *SPREAD_RESOURCES)]

_APPS = [{}, {"app": "web"}, {"app": "db"}, {"app": "web", "tier": "1"}]
_SELECTORS = [None, {}, {"matchLabels": {"app": "web"}}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}]


def _affinity(kind: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@st.composite
def _nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    labels: Any = draw(st.sampled_from([{}, {"zone": "a"}, {"zone": "b"}, {"zone": 1}]))
    taint = {"key": "dedicated", "value": draw(st.sampled_from("xy")), "effect": "NoSchedule"}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": draw(st.booleans()), "taints": draw(st.sampled_from([[], [taint]]))},
        "status": {"allocatable": {"cpu": draw(st.sampled_from(["1", "2500m"])), "pods": "10"}},
    }


@st.composite
def _pods(draw: st.DrawFn, key: str) -> dict[str, Any]:
    namespace, name = key.split("/")
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "labels": draw(st.sampled_from(_APPS))}
    # The same pod as before, another one of that name, one without a UID; rarely one that cannot be read.
    uid = draw(st.sampled_from([f"{key} 1", f"{key} 2", ""]))
    if uid:
        metadata["uid"] = uid
    if draw(st.integers(0, 9)) == 0:
        metadata["labels"] = 7
    if draw(st.booleans()):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    container: dict[str, Any] = {
        "name": "main",
        "resources": {"requests": draw(st.sampled_from([{}, {"cpu": "100m"}, {"cpu": "1", "nvidia.com/gpu": "1"}]))},
        "ports": draw(st.sampled_from([[], [{"containerPort": 80, "hostPort": 80}]])),
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "priority": draw(st.sampled_from([0, 10])),
        "affinity": draw(st.sampled_from([{}, _affinity("podAffinity"), _affinity("podAntiAffinity")])),
        "schedulingGates": draw(st.sampled_from([[], [{"name": "wait"}]])),
    }
    status: dict[str, Any] = {"phase": draw(st.sampled_from(["Pending", "Running", "Succeeded"]))}
    match draw(st.sampled_from(["bound", "bound", "nominated", "waiting"])):
        case "bound":
            spec["nodeName"] = draw(st.sampled_from([*NODES, "unknown"]))
        case "nominated":
            status["nominatedNodeName"] = draw(st.sampled_from(NODES))
    return {"metadata": metadata, "spec": spec, "status": status}


def _budgets(key: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda selector, allowed: (
            _named(key) | {"spec": {"selector": selector}, "status": {"disruptionsAllowed": allowed}}
        ),
        st.sampled_from(_SELECTORS),
        st.sampled_from([0, 1, "many"]),
    )


def _workloads(key: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda selector: _named(key) | {"spec": {"selector": selector}},
        st.sampled_from([*_SELECTORS, {"app": "web"}, "wrong"]),
    )


def _named(key: str) -> dict[str, Any]:
    namespace, _, name = key.rpartition("/")
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}


def objects(resource: str, key: str) -> st.SearchStrategy[dict[str, Any]]:
    """An object of that resource and key as the API server has it."""
    match resource:
        case "nodes":
            return _nodes(key)
        case "pods":
            return _pods(key)
        case "namespaces":
            return st.sampled_from([{}, {"team": "a"}, 7]).map(
                lambda labels: {"metadata": {"name": key, "labels": labels}}
            )
        case "poddisruptionbudgets":
            return _budgets(key)
        case "priorityclasses":
            return st.sampled_from([1, 2, "high"]).map(lambda value: _named(key) | {"value": value})
        case _:
            return _workloads(key)


def keys(resource: str) -> st.SearchStrategy[str]:
    """Keys of that resource."""
    match resource:
        case "nodes":
            return st.sampled_from(NODES)
        case "pods":
            return st.sampled_from(["a/p0", "a/p1", "b/p0", "b/p2"])
        case "namespaces" | "priorityclasses":
            return st.sampled_from(["a", "b"])
        case _:
            return st.sampled_from(["a/x", "a/y", "b/x"])


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """What may happen to an object: it comes, changes or goes."""
    resource = draw(st.sampled_from(["nodes", "pods", "pods", "pods", *RESOURCES]))
    key = draw(keys(resource))
    found = draw(st.none() | objects(resource, key))
    if found is None:
        return Change(resource, key, None)
    kept = TRIMS[resource](found)
    assert key_of(kept) == key
    return Change(resource, key, kept)
