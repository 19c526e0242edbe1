"""Plans of gangs on small clusters: valid, complete for identical members, and the same for every member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.framework.plugin import SUCCESS
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod, label_set, read_node, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import AssumedPod, Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import LICENCE, LICENCES
from tests.builders.gangs import member_object
from tests.builders.nodes import node_with
from tests.builders.planned import answers, gang_policy

pytestmark = pytest.mark.long

POLICIES = [gang_policy(managedResources=[LICENCES]), gang_policy(profile="full", managedResources=[LICENCES])]

nodes = st.lists(
    st.fixed_dictionaries(
        {
            "cpu": st.integers(0, 4),
            "licences": st.integers(0, 3),
            "zone": st.sampled_from(["", "a", "b"]),
            "taint": st.booleans(),
        }
    ),
    min_size=1,
    max_size=4,
)
shapes = st.fixed_dictionaries(
    {
        "cpu": st.integers(0, 3),
        "licence": st.integers(0, 2),
        "port": st.booleans(),
        "apart": st.sampled_from(["", "kubernetes.io/hostname", "zone"]),
        "tolerates": st.booleans(),
    }
)


def node(index: int, drawn: Mapping[str, Any]) -> NodeInfo:
    labels = {LICENCE: str(drawn["licences"])} | ({"zone": drawn["zone"]} if drawn["zone"] else {})
    taints = [{"key": "k", "value": "", "effect": "NoSchedule"}] if drawn["taint"] else []
    found = read_node(node_with(f"n{index}", labels, taints=taints, allocatable={"cpu": str(drawn["cpu"])}))
    assert isinstance(found, NodeInfo)
    return found


def a_member(name: str, gang: str, size: int, shape: Mapping[str, Any], topology_key: str | None, created: str) -> Pod:
    requests = {"cpu": str(shape["cpu"]), LICENCE: str(shape["licence"])}
    spec: dict[str, Any] = {}
    if shape["apart"]:
        term = {"labelSelector": {"matchLabels": {"gang": gang}}, "topologyKey": shape["apart"]}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if shape["tolerates"]:
        spec["tolerations"] = [{"key": "k", "operator": "Exists"}]
    whole = member_object(name, gang, size, requests=requests, spec=spec, topology_key=topology_key, created=created)
    whole["metadata"]["labels"]["gang"] = gang
    if shape["port"]:
        whole["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    found = read_pod(whole)
    assert isinstance(found, Pod)
    return found


@dataclass(frozen=True)
class Case:
    nodes: Sequence[NodeInfo]
    gangs: Sequence[Sequence[Pod]]

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot.of(self.nodes, [pod for gang in self.gangs for pod in gang])


@st.composite
def cases(draw: st.DrawFn, largest: int = 2, alike: bool = False) -> Case:
    """Draw nodes and gangs. The members of a gang have several shapes unless `alike`."""
    drawn = [node(index, each) for index, each in enumerate(draw(nodes))]
    gangs = []
    for number in range(draw(st.integers(1, largest))):
        size = draw(st.integers(1, 4))
        key = draw(st.sampled_from([None, None, "zone"]))
        of_all = draw(shapes)
        created = f"2026-01-0{number + 1}T00:00:00Z"
        gangs.append(
            [
                a_member(f"g{number}-{index}", f"g{number}", size, of_all if alike else draw(shapes), key, created)
                for index in range(size)
            ]
        )
    return Case(drawn, gangs)


def fits(policy: Policy, pod: Pod, name: str, snapshot: Snapshot) -> bool:
    """Return whether the pod passes all filters, evaluated without a cache."""
    profile: Profile = policy._profiles.for_planning(pod)
    found = Evaluation.of(profile, pod, snapshot, LocalEvaluation.of(profile, pod, snapshot))
    return found.statuses[name] is SUCCESS


def is_valid(policy: Policy, case: Case, places: Mapping[str, str]) -> bool:
    """Return whether each pod passes all filters if the other pods are at their planned places."""
    pods = {pod.uid: pod for gang in case.gangs for pod in gang}
    placed = {
        uid: replace(pods[uid], node_name=name, assumed_shares=shares(policy, pods[uid]))
        for uid, name in places.items()
    }
    for uid, name in places.items():
        others = [pod for other, pod in placed.items() if other != uid]
        if not fits(policy, pods[uid], name, Snapshot.of(case.nodes, others)):
            return False
    return True


def shares(policy: Policy, pod: Pod) -> Mapping[str, int]:
    demands = policy.counting.demands(pod)
    assert isinstance(demands, tuple)
    return {demand.resource: demand.amount for demand in demands}


def planned(policy: Policy, case: Case, snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the nodes that filter returns, by UID, for the members that have a place."""
    found: dict[str, list[str]] = {}
    for gang in case.gangs:
        of_gang = answers(policy, snapshot, gang)
        feasible = {pod.uid: of_gang[pod.name].feasible for pod in gang if of_gang[pod.name].feasible}
        assert len(feasible) in (0, len(gang)), "a part of a gang has places"
        found |= feasible
    return found


def first(found: Mapping[str, list[str]]) -> dict[str, str]:
    return {uid: names[0] for uid, names in found.items()}


@settings(max_examples=150)
@given(st.sampled_from(POLICIES), cases(), st.data())
def test_any_choice_among_the_passing_nodes_is_valid(policy: Policy, case: Case, data: st.DataObject) -> None:
    found = planned(policy, case, case.snapshot)
    assert is_valid(policy, case, first(found))
    chosen = {uid: data.draw(st.sampled_from(names)) for uid, names in found.items()}
    assert is_valid(policy, case, chosen)
    for gang in case.gangs:
        key = gang[0].annotations.get("berth.dev/gang-topology-key")
        domains = {case.snapshot.nodes[chosen[pod.uid]].labels.get(key or "", "") for pod in gang if pod.uid in chosen}
        assert not key or not domains or (len(domains) == 1 and "" not in domains)


@settings(max_examples=100)
@given(cases(largest=1, alike=True))
def test_finds_a_placement_of_identical_members_if_one_exists(case: Case) -> None:
    [gang] = case.gangs
    policy = POLICIES[0]
    if planned(policy, case, case.snapshot):
        return
    key = gang[0].annotations.get("berth.dev/gang-topology-key")
    for names in product([each.name for each in case.nodes], repeat=len(case.gangs[0])):
        if list(names) != sorted(names):
            continue  # identical members are interchangeable
        domains = {case.snapshot.nodes[name].labels.get(key or "", "") for name in names}
        if key and (len(domains) > 1 or "" in domains):
            continue
        found = {pod.uid: name for pod, name in zip(case.gangs[0], names, strict=True)}
        assert not is_valid(policy, case, found), f"{found} is a placement"


@settings(max_examples=60)
@given(st.sampled_from(POLICIES), cases(), st.randoms(use_true_random=False))
def test_order_of_calls_and_pods_does_not_change_the_plan(policy: Policy, case: Case, random: Any) -> None:
    wanted = planned(policy, case, case.snapshot)
    pods = [pod for gang in case.gangs for pod in gang]
    random.shuffle(pods)
    mixed = Snapshot.of(random.sample(list(case.nodes), len(case.nodes)), pods)
    found = {pod.uid: answers(policy, mixed, [pod])[pod.name].feasible for pod in pods}
    assert {uid: sorted(names) for uid, names in found.items() if names} == {
        uid: sorted(names) for uid, names in wanted.items()
    }
    assert first({uid: names for uid, names in found.items() if names}) == first(wanted)


@st.composite
def changes(draw: st.DrawFn, case: Case) -> Changes:
    """Draw a node that changes or joins, and a pod that comes to a node or leaves it."""
    index = draw(st.integers(0, len(case.nodes)))
    pod = replace(case.gangs[0][0], name="other", uid="other", node_name=f"n{draw(st.integers(0, len(case.nodes)))}")
    pod = replace(pod, annotations={}, label_set=label_set("ml", {}))
    gone = draw(st.booleans())
    return Changes(
        nodes=[node(index, draw(nodes)[0])] if draw(st.booleans()) else (),
        pods=() if gone else [pod],
        pods_gone=[(pod.node_name, pod.uid)] if gone else (),
    )


@settings(max_examples=200)
@given(st.sampled_from(["all-nodes", "full"]), cases(largest=3), st.data())
def test_plan_after_changes_equals_a_plan_from_scratch(profile: str, case: Case, data: st.DataObject) -> None:
    """Another environment, which has not seen the earlier snapshots, must find the same places."""
    document = {"managedResources": [LICENCES], "profile": profile}
    warm, snapshot = gang_policy(**document), case.snapshot
    for _ in range(4):
        assert planned(warm, case, snapshot) == planned(gang_policy(**document), case, snapshot)
        snapshot = snapshot.base.with_changes(data.draw(changes(case)))
        if data.draw(st.booleans()):
            assumed = AssumedPod("ml", "being-bound", "being-bound", data.draw(st.sampled_from([*snapshot.nodes])), {})
            snapshot = snapshot.assuming([replace(assumed, pod=replace(case.gangs[-1][0], uid="being-bound"))])
