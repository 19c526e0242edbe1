"""A cluster updated by changes gets the same verdicts as one read again, for any cache content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Namespace, NodeInfo, Pod, read_pod
from berth.scheduling.objects.cluster import Workloads
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.objects import read_objects
from tests.parity.generator.cases import case
from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Family

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class SnapshotId:
    """What there is in a cluster."""

    nodes: dict[str, NodeInfo]
    pods: dict[str, Pod]
    namespaces: tuple[Namespace, ...]
    workloads: Workloads

    def read_anew(self) -> Snapshot:
        return Snapshot.of(
            self.nodes.values(), self.pods.values(), namespaces=self.namespaces, workloads=self.workloads
        )

    def since(self, earlier: SnapshotId) -> Changes:
        return Changes(
            nodes=[node for name, node in self.nodes.items() if node != earlier.nodes.get(name)],
            nodes_gone=[name for name in earlier.nodes if name not in self.nodes],
            pods=[pod for uid, pod in self.pods.items() if pod != earlier.pods.get(uid)],
            pods_gone=[
                (pod.node_name, uid)
                for uid, pod in earlier.pods.items()
                if uid not in self.pods or self.pods[uid].node_name != pod.node_name
            ],
            namespaces=None if self.namespaces == earlier.namespaces else self.namespaces,
        )


def moments(whole: dict[str, Any], draw: Draw, count: int) -> list[SnapshotId]:
    """Some of the objects at each moment, now and then changed in what may change while they live."""
    found = read_objects(whole["objects"])
    workloads = Workloads.of(found.workloads)
    made = []
    for _ in range(count):
        objects = [_later(obj, draw) for obj in whole["objects"] if draw.chance(0.8)]
        some = read_objects(objects)
        made.append(
            SnapshotId(
                {node.name: node for node in some.nodes},
                {pod.uid: pod for pod in some.pods if pod.name != "pending"},
                tuple(some.namespaces if draw.chance(0.3) else found.namespaces),
                workloads,
            )
        )
    return made


def _later(obj: dict[str, Any], draw: Draw) -> dict[str, Any]:
    metadata, status = obj["metadata"], obj.get("status", {})
    if obj["kind"] == "Pod" and draw.chance(0.2):
        return {**obj, "metadata": {**metadata, "labels": {"app": draw.one_of(("web", "db"))}}}
    if obj["kind"] == "Pod" and draw.chance(0.2):
        return {**obj, "metadata": {**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    if obj["kind"] == "Pod" and draw.chance(0.1):
        return {**obj, "status": {**status, "phase": draw.one_of(("Running", "Succeeded"))}}
    if obj["kind"] == "Node" and draw.chance(0.1):
        zone = {"topology.kubernetes.io/zone": draw.one_of(("z1", "z2", "z4"))}
        return {**obj, "metadata": {**metadata, "labels": {**metadata["labels"], **zone}}}
    if obj["kind"] == "Node" and draw.chance(0.1):
        return {**obj, "spec": {"unschedulable": draw.chance(0.5)}}
    if obj["kind"] == "Node" and draw.chance(0.1):
        return {**obj, "status": {**status, "images": []}}
    return obj


def policy(whole: dict[str, Any]) -> Policy:
    configs = [{"name": name, "args": args} for name, args in whole["args"].items()]
    return BerthConfiguration.model_validate({"profile": "full", "pluginConfig": configs}).policy()


@settings(max_examples=250)
@given(st.sampled_from(list(Family)), st.integers(0, 10_000))
def test_changed_cluster_is_evaluated_like_a_new_cluster(family: Family, number: int) -> None:
    whole, draw = case(2, family, number), Draw(f"{family}/{number}")
    asking = [read_pod(case(2, family, number + 1)["pod"]), read_pod(whole["pod"])]
    warm = policy(whole)
    passing = moments(whole, draw, 5)
    snapshot, before = passing[0].read_anew(), passing[0]
    for moment in passing:
        changes = moment.since(before)
        # Now and then nothing is asked between two changes.
        snapshot, before = snapshot.with_changes(changes), moment
        if draw.chance(0.3):
            continue
        cold, names = policy(whole), [*moment.nodes]
        anew = moment.read_anew()
        assert set(snapshot.nodes) == set(anew.nodes)
        for pod in asking:
            assert isinstance(pod, Pod)
            assert warm.feasibility(pod, names, snapshot) == cold.feasibility(pod, names, anew)
            assert warm.scores(pod, names, snapshot) == cold.scores(pod, names, anew)
            assert warm.best(pod, names, snapshot) == cold.best(pod, names, anew)
