"""A projection parses like the whole object, for generated and for mutated objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import BASE_RESOURCES, SPREAD_RESOURCES
from berth.nodecache.feed.changes import Change, pack, unpack
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.objects import read_node, read_pods, trimmed_node, trimmed_pod
from berth.scheduling.objects.cluster import Workloads
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import compact_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.objects import read_objects
from tests.builders.snapshots import content
from tests.parity.generator.cases import cases
from tests.parity.generator.features import Family
from tests.property.json_values import json_values

pytestmark = pytest.mark.long

CASES = 60
RESOURCE_OF = {
    "Node": "nodes",
    "Pod": "pods",
    "Namespace": "namespaces",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PriorityClass": "priorityclasses",
    "Service": "services",
    "ReplicationController": "replicationcontrollers",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
}
TRIMS = {resource.name: trim for resource, trim in projections(RequiredFields(spreading=True, images=True)).items()}

Manifest = dict[str, Any]


def generated() -> Iterator[Manifest]:
    """Yield the nodes and pods of generated cases, including the pending pods."""
    for family in Family:
        for case in cases(1, family, CASES):
            yield from (found for found in [*case["objects"], case["pod"]] if found["kind"] in ("Node", "Pod"))


OBJECTS = list(generated())
PODS = [found for found in OBJECTS if found["kind"] == "Pod"]
NODES = [found for found in OBJECTS if found["kind"] == "Node"]


def stored(found: object) -> Any:
    """Return the object as it is decoded from an item of the cache."""
    return orjson.loads(orjson.dumps(found))


@pytest.mark.parametrize("kept", [trimmed_pod, compact_pod], ids=["trimmed", "compact"])
def test_projected_pod_parses_like_the_whole_pod(kept: Any) -> None:
    reader = PodReader()
    for pod in PODS:
        [whole], _ = read_pods([pod])
        # Labels and specs are interned: these are the same objects, not only equal ones.
        assert reader.read(stored(kept(pod))) == whole


def test_projected_node_parses_like_the_whole_node() -> None:
    for node in NODES:
        assert read_node(stored(trimmed_node(node))) == read_node(node)


def test_second_projection_does_not_change_an_object() -> None:
    for pod in PODS:
        assert trimmed_pod(trimmed_pod(pod)) == trimmed_pod(pod)
        assert compact_pod(trimmed_pod(pod)) == compact_pod(pod)
    for node in NODES:
        assert trimmed_node(trimmed_node(node)) == trimmed_node(node)


@pytest.mark.parametrize("family", Family)
def test_cluster_from_the_cache_equals_the_cluster(family: Family) -> None:
    view = SnapshotView()
    for case in cases(2, family, CASES):
        changes = []
        for found in case["objects"]:
            resource, metadata = RESOURCE_OF[found["kind"]], found["metadata"]
            key = f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else metadata["name"]
            changes.append(Change(resource, key, TRIMS[resource](found)))
        state = view.applied(view.empty(), unpack(pack(changes).items))
        whole = read_objects(case["objects"])
        assert content(state.snapshot) == content(
            Snapshot.of(
                whole.nodes,
                whole.pods,
                namespaces=whole.namespaces,
                disruption_budgets=whole.disruption_budgets,
                priority_classes=whole.priority_classes,
                workloads=Workloads.of(whole.workloads),
            )
        )
        assert not state.unreadable


def paths(found: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(found, dict):
        for name, value in found.items():
            yield from paths(value, (*path, name))
    elif isinstance(found, list):
        for index, value in enumerate(found):
            yield from paths(value, (*path, index))


@st.composite
def damaged(draw: st.DrawFn, objects: list[Manifest]) -> Any:
    """Draw an object with another JSON value at one of its paths."""
    found: Any = {"": stored(draw(st.sampled_from(objects)))}
    *way, last = draw(st.sampled_from(list(paths(found))[1:]))
    at = found
    for step in way:
        at = at[step]
    at[last] = draw(st.sampled_from([None, 7, "", "x", True, [], {}, [7], [None], {"x": 7}]) | json_values)
    return found[""]


def is_json(value: object) -> bool:
    """Return whether the value could have come from an API server."""
    try:
        return bool(orjson.loads(orjson.dumps(value)) == value)
    except orjson.JSONEncodeError:
        return False


@given(damaged(PODS).filter(is_json))
def test_malformed_pod_is_parsed_the_same_way_after_projection(pod: Any) -> None:
    reader = PodReader()
    whole = reader.read(pod)
    if isinstance(pod, dict):
        assert reader.read(stored(trimmed_pod(pod))) == whole
        assert reader.read(stored(compact_pod(pod))) == whole


@given(damaged(NODES).filter(is_json))
def test_malformed_node_is_parsed_the_same_way_after_projection(node: Any) -> None:
    if isinstance(node, dict):
        assert read_node(stored(trimmed_node(node))) == read_node(node)


@given(
    st.sampled_from([resource.name for resource in (*BASE_RESOURCES, *SPREAD_RESOURCES)]), json_values.filter(is_json)
)
def test_view_accepts_any_object_from_cache_or_api_server(resource: str, found: Any) -> None:
    view = SnapshotView()
    if isinstance(found, dict):
        state = view.applied(view.empty(), [Change(resource, "a/x", found)])
        view.applied(state, [Change(resource, "a/x", TRIMS[resource](found)), Change(resource, "a/y", found)])
