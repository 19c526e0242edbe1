"""Clusters whose nodes and pods are added, changed and removed, with all fields that the profile `full` reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from berth.scheduling.objects import Namespace, NodeInfo, Pod, read_node, read_pod, read_pods
from berth.scheduling.objects.cluster import Workload, Workloads
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

Manifest = dict[str, Any]

NODES = [f"n{index}" for index in range(6)]
PODS = [f"p{index}" for index in range(8)]
APPS = ("web", "db")
NAMESPACES = ("team-a", "team-b")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED, PREFERRED = (f"{each}DuringSchedulingIgnoredDuringExecution" for each in ("required", "preferred"))


def node_manifest(name: str, zone: str, cpu: int, taint: str, image: str, *, cordoned: bool, ready: str) -> Manifest:
    """Return a v1.Node. An empty zone, taint or image is omitted."""
    return {
        "metadata": {"name": name, "labels": {HOST: name, **({ZONE: zone} if zone else {})}},
        "spec": {"unschedulable": cordoned, "taints": [{"key": "k", "value": "", "effect": taint}] if taint else []},
        "status": {
            "allocatable": {"cpu": str(cpu), "memory": "8Gi", "pods": "4"},
            "conditions": [{"type": "Ready", "status": ready}],
            "images": [{"names": [image], "sizeBytes": 500 << 20}] if image else [],
        },
    }


nodes = st.builds(
    node_manifest,
    st.sampled_from(NODES),
    st.sampled_from(["a", "b", ""]),
    st.sampled_from([1, 4]),
    st.sampled_from(["", "", "NoSchedule", "PreferNoSchedule"]),
    st.sampled_from(["", "web:latest"]),
    cordoned=st.sampled_from([False, False, True]),
    ready=st.sampled_from(["True", "True", "Unknown"]),
)

terms = st.builds(
    lambda app, key, everywhere: {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": key,
        **({"namespaceSelector": {"matchLabels": {"team": "yes"}}} if everywhere else {}),
    },
    st.sampled_from(APPS),
    st.sampled_from([ZONE, HOST]),
    st.booleans(),
)
one_or_two = st.lists(terms, min_size=1, max_size=2)
affinities = st.one_of(
    st.just({}),
    one_or_two.map(lambda found: {"podAntiAffinity": {REQUIRED: found}}),
    one_or_two.map(lambda found: {"podAffinity": {REQUIRED: found}}),
    terms.map(lambda term: {"podAffinity": {PREFERRED: [{"weight": 7, "podAffinityTerm": term}]}}),
    terms.map(lambda term: {"podAntiAffinity": {PREFERRED: [{"weight": 9, "podAffinityTerm": term}]}}),
    st.just(
        {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]},
                PREFERRED: [
                    {
                        "weight": 5,
                        "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]},
                    }
                ],
            }
        }
    ),
    st.just(
        {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
                    ]
                }
            }
        }
    ),
)
spreads = st.lists(
    st.builds(
        lambda key, action, policy, selector: {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": selector,
            "nodeTaintsPolicy": policy,
        },
        st.sampled_from([ZONE, HOST]),
        st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        st.sampled_from(["Honor", "Ignore"]),
        st.sampled_from([{"matchLabels": {"app": "web"}}, {}]),
    ),
    max_size=2,
    unique_by=lambda each: (each["topologyKey"], each["whenUnsatisfiable"]),
)
specs = st.builds(
    lambda affinity, spread, cpu, port, tolerates: {
        "affinity": affinity,
        "topologySpreadConstraints": spread,
        "tolerations": [{"key": "k", "operator": "Exists"}] if tolerates else [],
        "containers": [
            {
                "name": "main",
                "image": "web",
                "resources": {"requests": {"cpu": cpu}},
                "ports": [{"hostPort": 80, "protocol": "TCP"}] if port else [],
            }
        ],
    },
    affinities,
    spreads,
    st.sampled_from(["500m", "2"]),
    st.booleans(),
    st.booleans(),
)


def pod_manifest(
    name: str, spec: Manifest, app: str, namespace: str, where: str, *, terminating: bool, nominated: str = ""
) -> Manifest:
    """Return a v1.Pod. where: the pod's node; empty if the pod is not bound."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": {"app": app},
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {}),
        },
        "spec": spec | ({"nodeName": where} if where else {}),
        "status": {"phase": "Running" if where else "Pending", "nominatedNodeName": nominated},
    }


pods = st.builds(
    pod_manifest,
    st.sampled_from(PODS),
    specs,
    st.sampled_from(APPS),
    st.sampled_from(NAMESPACES),
    st.sampled_from([*NODES, ""]),
    terminating=st.sampled_from([False, False, False, True]),
    nominated=st.sampled_from(["", "", "n0"]),
)
incoming = st.builds(
    pod_manifest,
    st.just("asking"),
    specs,
    st.sampled_from(APPS),
    st.sampled_from(NAMESPACES),
    st.just(""),
    terminating=st.just(False),
)


@dataclass(frozen=True)
class Cluster:
    """Objects by name. `teams`: whether the namespaces have a label. `served`: whether the app web has a Service."""

    nodes: dict[str, Manifest] = field(default_factory=dict)
    pods: dict[str, Manifest] = field(default_factory=dict)
    teams: bool = False
    served: bool = False

    def namespaces(self) -> list[Namespace]:
        return [Namespace(name, {"team": "yes"} if self.teams else {}) for name in NAMESPACES]

    def workloads(self) -> Workloads:
        service = [Workload("Service", name, "web", {"app": "web"}) for name in NAMESPACES]
        return Workloads.of(service if self.served else [])

    def anew(self) -> Snapshot:
        found, _ = read_pods(self.pods.values())
        return Snapshot.of(
            map(as_node, self.nodes.values()), found, namespaces=self.namespaces(), workloads=self.workloads()
        )


def as_node(manifest: Manifest) -> NodeInfo:
    found = read_node(manifest)
    assert isinstance(found, NodeInfo)
    return found


def as_pod(manifest: Manifest) -> Pod:
    """Read the pod with everything that its own placement depends on."""
    found = read_pod(manifest)
    assert isinstance(found, Pod)
    return found


Event = Callable[[Cluster], tuple[Cluster, Changes]]
"""Returns the cluster after the event, and the changes that the cache reports."""


def node_comes(manifest: Manifest) -> Event:
    def event(cluster: Cluster) -> tuple[Cluster, Changes]:
        nodes = cluster.nodes | {manifest["metadata"]["name"]: manifest}
        return replace(cluster, nodes=nodes), Changes(nodes=[as_node(manifest)])

    return event


def node_goes(name: str) -> Event:
    """Remove the node. Its pods stay on it, although the node is unknown."""

    def event(cluster: Cluster) -> tuple[Cluster, Changes]:
        nodes = {each: manifest for each, manifest in cluster.nodes.items() if each != name}
        return replace(cluster, nodes=nodes), Changes(nodes_gone=[name])

    return event


def pod_comes(manifest: Manifest) -> Event:
    """Add or replace a pod. If its node differs, the old pod is removed too, because a pod never changes its node."""

    def event(cluster: Cluster) -> tuple[Cluster, Changes]:
        name = manifest["metadata"]["name"]
        before = cluster.pods.get(name, manifest)
        gone = [] if _node_of(before) in ("", _node_of(manifest)) else [(_node_of(before), f"uid-{name}")]
        [found], _ = read_pods([manifest])
        pods = {each: other for each, other in cluster.pods.items() if each != name} | {name: manifest}
        return replace(cluster, pods=pods), Changes(pods=[found], pods_gone=gone)

    return event


def pod_goes(name: str) -> Event:
    def event(cluster: Cluster) -> tuple[Cluster, Changes]:
        pods = {each: manifest for each, manifest in cluster.pods.items() if each != name}
        if name not in cluster.pods:
            return cluster, Changes()
        return replace(cluster, pods=pods), Changes(pods_gone=[(_node_of(cluster.pods[name]), f"uid-{name}")])

    return event


def teams_are(teams: bool) -> Event:
    def event(cluster: Cluster) -> tuple[Cluster, Changes]:
        later = replace(cluster, teams=teams)
        return later, Changes(namespaces=later.namespaces())

    return event


def apps_are_served(served: bool) -> Event:
    def event(cluster: Cluster) -> tuple[Cluster, Changes]:
        later = replace(cluster, served=served)
        return later, Changes(workloads=later.workloads())

    return event


def _node_of(manifest: Manifest) -> str:
    name: str = manifest["spec"].get("nodeName", "")
    return name


events = st.one_of(
    nodes.map(node_comes),
    pods.map(pod_comes),
    pods.map(pod_comes),
    st.sampled_from(NODES).map(node_goes),
    st.sampled_from(PODS).map(pod_goes),
    st.booleans().map(teams_are),
    st.booleans().map(apps_are_served),
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    found = draw(st.lists(nodes, min_size=2, max_size=6, unique_by=lambda each: each["metadata"]["name"]))
    placed = draw(st.lists(pods, max_size=8, unique_by=lambda each: each["metadata"]["name"]))
    return Cluster(
        {each["metadata"]["name"]: each for each in found},
        {each["metadata"]["name"]: each for each in placed},
        draw(st.booleans()),
        draw(st.booleans()),
    )
