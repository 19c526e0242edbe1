"""Properties of the victims that the preempt verb returns in any cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.extender.preempt import answer_preempt
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import SUCCESS
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.preemption.priority import priority_of
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.objects import read_objects
from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.builders.requests import victims_by_uid
from tests.fakes.node_cache import FixedNodeCache
from tests.parity import scheduling_cycle as cycle

pytestmark = pytest.mark.long

Object = dict[str, Any]

FULL = BerthConfiguration.model_validate({"profile": "full"})
ONE = BerthConfiguration.model_validate({"profile": "full", "preemption": {"choose": "one"}})
PROFILE = FULL.build_profile("full")
NODES = ("n0", "n1", "n2")
PRIORITIES = (None, -5, 0, 1, 1, 2, 50, 51)
STARTS = (None, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
AWAY: Object = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


def _pod(index: int, node: str, cpu: int, app: str, port: int, away: bool, priority: int | None, start: Any) -> Object:
    ports = [{"hostPort": port, "containerPort": port}] if port else []
    status = {} if start is None else {"startTime": start}
    return pod_with(
        f"v{index}",
        {"app": app},
        status=status,
        nodeName=node,
        priority=priority,
        containers=[{**container(cpu=str(cpu)), "ports": ports}],
        affinity=AWAY if away else None,
    )


pods_on_nodes = st.lists(
    st.tuples(
        st.sampled_from(NODES),
        st.integers(0, 3),
        st.sampled_from(["db", "web"]),
        st.sampled_from([0, 0, 80]),
        st.booleans(),
        st.sampled_from(PRIORITIES),
        st.sampled_from(STARTS),
    ),
    max_size=12,
).map(lambda found: [_pod(index, *each) for index, each in enumerate(found)])

budgets = st.lists(
    st.builds(
        lambda app, allowed: {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"{app}-{allowed}", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        },
        st.sampled_from(["db", "web"]),
        st.integers(0, 2),
    ),
    max_size=3,
)

asking = st.builds(
    lambda cpu, app, port, away: pod_with(
        "urgent",
        {"app": app},
        priority=50,
        containers=[{**container(cpu=str(cpu)), "ports": [{"hostPort": port, "containerPort": port}] if port else []}],
        affinity=AWAY if away else None,
    ),
    st.integers(0, 5),
    st.sampled_from(["db", "web"]),
    st.sampled_from([0, 80]),
    st.booleans(),
)


class Cluster:
    """Filters from scratch for each query, without incremental state."""

    def __init__(self, pod: Object, pods: list[Object], others: list[Object]) -> None:
        self.objects = [*map(node_with, NODES), *pods, *others]
        self.pod = read(pod)
        self.found = read_objects(self.objects)
        self.on = {name: [each for each in self.found.pods if each.node_name == name] for name in NODES}

    def fits(self, node: str, without: Collection[str]) -> bool:
        stay = [pod for pod in self.found.pods if pod.uid not in without]
        snapshot = Snapshot.of(self.found.nodes, stay)
        return cycle.run(PROFILE, self.pod, snapshot).verdicts[node].status is SUCCESS

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot.of(self.found.nodes, self.found.pods, disruption_budgets=self.found.disruption_budgets)


def read(pod: Mapping[str, object]) -> Pod:
    found = read_pod(pod)
    assert isinstance(found, Pod)
    return found


def shares_a_port(pods: list[Pod]) -> bool:
    """Return whether pods share a port: kube-scheduler counts it once, so a fitting pod may not fit after a recount."""
    taken = [port for pod in pods for port in pod.spec.host_ports]
    return len(taken) != len(set(taken))


proposals = st.dictionaries(
    st.sampled_from([*NODES, "joined-a-moment-ago"]),
    st.lists(st.sampled_from([*(f"uid-v{index}" for index in range(12)), "new-1", "new-2"]), max_size=5),
    max_size=4,
)


@given(asking, pods_on_nodes, budgets, proposals, st.integers(0, 3), st.sampled_from([FULL, ONE]))
def test_preempt_response_satisfies_all_rules(
    pod: Object,
    pods: list[Object],
    others: list[Object],
    proposed: dict[str, list[str]],
    counted: int,
    configuration: BerthConfiguration,
) -> None:
    cluster = Cluster(pod, pods, others)
    cache = FixedNodeCache.of(configuration, *cluster.objects)
    request = victims_by_uid(proposed, counted, pod)
    reply = answer_preempt(orjson.dumps(request), cache)
    assert reply.status == 200
    answer = orjson.loads(reply.body)["NodeNameToMetaVictims"]
    assert answer.keys() <= proposed.keys()
    assert len(answer) <= 1 or configuration is FULL
    for name, victims in answer.items():
        there = {other.uid: other for other in cluster.on.get(name, ())}
        uids = [each["UID"] for each in victims["Pods"]]
        assert uids
        assert len(set(uids)) == len(uids)
        assert set(proposed[name]) <= set(uids)
        assert set(uids) - set(proposed[name]) <= there.keys()
        priorities = [priority_of(there[uid]) for uid in uids if uid in there]
        assert priorities == sorted(priorities, reverse=True)
        assert all(priority < priority_of(cluster.pod) for priority in priorities)
        assert victims["NumPDBViolations"] >= counted
        if there and not shares_a_port([*there.values()]):
            assert cluster.fits(name, uids)
