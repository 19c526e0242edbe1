"""A rejected pod fits only after changes that the plugin registered: the watcher wakes it after these changes only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.nodecache.feed.changes import Object
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import ClusterEvent, ClusterEvents
from berth.scheduling.objects import Pod
from berth.scheduling.objects.projection import compact_pod
from berth.scheduling.policy import Policy
from berth.upkeep.wake_up import object_event, pod_events
from tests.property.changing_clusters import Cluster, Event, Manifest, as_pod, clusters, events, incoming

pytestmark = pytest.mark.long

NAMES = [f"n{index}" for index in range(6)]
HARD_DEFAULTS = {
    "defaultingType": "List",
    "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    ],
}
PLUGINS = {
    "NodeUnschedulable": {},
    "TaintToleration": {},
    "NodeAffinity": {},
    "NodeReady": {},
    "NodePorts": {},
    "NodeResourcesFit": {},
    "InterPodAffinity": {},
    "PodTopologySpread": HARD_DEFAULTS,
}
histories = st.tuples(clusters(), st.lists(events, min_size=1, max_size=6), incoming.map(as_pod))
History = tuple[Cluster, list[Event], Pod]


def policy_of(plugin: str) -> Policy:
    enabled = {"enabled": [{"name": plugin}]}
    args = [{"name": plugin, "args": PLUGINS[plugin]}] if PLUGINS[plugin] else []
    definition = {"plugins": enabled, "pluginConfig": args}
    return BerthConfiguration.model_validate({"profile": "one", "definitions": {"one": definition}}).policy()


POLICIES = {name: policy_of(name) for name in PLUGINS}


def changes(before: Cluster, now: Cluster) -> Iterator[ClusterEvent]:
    for name in before.nodes.keys() | now.nodes.keys():
        if before.nodes.get(name) != now.nodes.get(name):
            yield object_event("nodes", now.nodes.get(name))
    for name in before.pods.keys() | now.pods.keys():
        old, new = before.pods.get(name), now.pods.get(name)
        if old is not None and new is not None and ports(old) != ports(new):
            # A pod's ports never change: this is another pod of that name; the old pod's removal is published first.
            yield from pod_events(projected(old), None)
            old = None
        if old != new:
            yield from pod_events(projected(old), projected(new))
    if before.teams != now.teams:
        yield object_event("namespaces", {})
    if before.served != now.served:
        yield object_event("services", {})


def ports(manifest: Manifest) -> list[object]:
    return [container.get("ports") for container in manifest["spec"]["containers"]]


def projected(manifest: Manifest | None) -> Object | None:
    return None if manifest is None else compact_pod(manifest)


def unregistered(policy: Policy, registered: ClusterEvents, history: History) -> set[ClusterEvent]:
    """Return the changes after which another node passes, if none of them is registered; else an empty set."""
    cluster, steps, pod = history
    snapshot = cluster.anew()
    feasible = set(policy.feasibility(pod, NAMES, snapshot).feasible)
    for step in steps:
        later, delta = step(cluster)
        snapshot = snapshot.with_changes(delta)
        now = set(policy.feasibility(pod, NAMES, snapshot).feasible)
        happened = set(changes(cluster, later))
        if now - feasible and not happened & registered:
            return happened
        cluster, feasible = later, now
    return set()


@pytest.mark.parametrize("plugin", PLUGINS)
@given(history=histories)
def test_rejected_pod_fits_only_after_a_change_that_its_plugins_registered(plugin: str, history: History) -> None:
    policy = POLICIES[plugin]
    assert unregistered(policy, policy.events_to_register(history[2]), history) == set()
