"""States of plugins that count pods drop their stored label sets if there are too many of them."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.fields.requirements import FEW
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod, read_pods
from berth.scheduling.plugins import pod_counts
from berth.scheduling.plugins.inter_pod_affinity import filtering, scoring, terms
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node_with

HOST, REQUIRED, PREFERRED = (
    "kubernetes.io/hostname",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
TERM = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST}
AWAY = {"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}}
MANY_TERMS = [TERM, *({"labelSelector": {"matchLabels": {str(n): ""}}, "topologyKey": HOST} for n in range(FEW))]
MANY = {"affinity": {"podAntiAffinity": {REQUIRED: MANY_TERMS}}}
NEAR = {"affinity": {"podAffinity": {REQUIRED: [TERM]}}}
RATHER_AWAY = {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 9, "podAffinityTerm": TERM}]}}}
RATHER_MANY = {
    "affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 9, "podAffinityTerm": each} for each in MANY_TERMS]}}
}
NODES = ("a", "b", "c")


def manifest(name: str, app: str, node_name: str, parts: dict[str, Any]) -> dict[str, Any]:
    spec = {"containers": [{"name": "main"}], **parts, **({"nodeName": node_name} if node_name else {})}
    return {"metadata": {"name": name, "namespace": "ml", "uid": name, "labels": {"app": app}}, "spec": spec}


def placed(name: str, app: str, node_name: str, parts: dict[str, Any]) -> Pod:
    [found], _ = read_pods([manifest(name, app, node_name, parts)])
    return found


def snapshot_of(pods: list[Pod]) -> Snapshot:
    nodes = [read_node(node_with(name)) for name in NODES]
    return Snapshot.of([node for node in nodes if isinstance(node, NodeInfo)], pods)


@pytest.mark.parametrize("own", [AWAY, NEAR, MANY, RATHER_AWAY, RATHER_MANY])
@pytest.mark.parametrize(("most", "is_oversized"), [(1, True), (2, False)])
def test_states_forget_label_sets_beyond_the_maximum(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, Any], most: int, *, is_oversized: bool
) -> None:
    asking = read_pod(manifest("asking", "web", "", own))
    assert isinstance(asking, Pod)
    before = snapshot_of([placed("first", "web", "a", {}), placed("else", "db", "b", {})])
    after = before.with_changes(Changes(pods=[placed("second", "web", "b", {})]))
    delta = after.changed_since(before)
    assert delta is not None
    filters = filtering.State.of(terms.Terms(asking, before), before)
    scores = scoring.State.of(scoring.Preferences(asking, before, 1), before)
    monkeypatch.setattr(terms, "MAX_LABEL_SETS", most)
    monkeypatch.setattr(pod_counts, "MAX_CLASSIFIED", most)
    later, _ = filters.updated_to(after, delta)
    assert isinstance(later, filtering.State)
    has_preferences = own in (RATHER_AWAY, RATHER_MANY)
    assert (later.terms is not filters.terms) is (is_oversized and not has_preferences)
    renewed = scores.updated_to(after, delta).preferences is not scores.preferences
    assert renewed is (is_oversized and has_preferences)
