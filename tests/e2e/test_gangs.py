"""Gangs by Berth's annotations, on a kube-scheduler without a plugin, a PodGroup API or a feature gate for gangs.

The scheduler's configuration is the output of `berth scheduler-config`. A pod never loses its node, so a member without
a node was never bound. How long a gang took is printed; the limits are for a machine on which others work, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import yaml

from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, serve
from .berth.label_priority import none_available
from .berth.scheduler_config import berth_scheduler_config
from .berth.serve_with_ledger import ledger_in
from .kubernetes.child_process import ChildProcess
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

PLAIN = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: full
gangs: {enabled: true}
"""
LICENCE = "example.com/licence"
COUNTED = f"{PLAIN}managedResources: [{{name: {LICENCE}}}]\n"

# One member leaves no room for another on a node, and enough for other pods.
NODE_CPU, MEMBER_CPU = "4", "3"
DOES_NOT_FIT = "gang does not fit"
WAITS_FOR_MEMBERS = "gang waits for members"

# Whether the scheduler has the feature gate of `--bounded-retries`. With it, a pod that was rejected and now fits waits
# for the end of its back-off (fact 44): that is most of the printed seconds.
BOUNDED, UNBOUNDED = "bounded", "unbounded"
FLAGS = {BOUNDED: ("-v=2", "--feature-gates=SchedulerPopFromBackoffQ=false"), UNBOUNDED: ("-v=2",)}

PLACED_SECONDS = 120
# For a call of bind that waits for members, and for the scheduler's longest pause between two attempts.
STABLE_SECONDS = 12
# The watcher creates the ledger of a node when the API server has sent a later resource version of pods.
NODE_LEDGER_SECONDS = 180
LEDGER_SECONDS = 20

# `make e2e-gangs REPEAT=20`
REPETITIONS = int(os.environ.get("GANG_REPETITIONS", "1"))

RunWithGangs = Callable[[str, str], AbstractContextManager[ChildProcess]]


@pytest.fixture
def retries() -> str:
    return BOUNDED


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


@pytest.fixture
def run_with_gangs(control_plane: ControlPlane, retries: str, tmp_path: Path) -> RunWithGangs:
    """Runs kube-scheduler with the output of scheduler-config for a urlPrefix and the document of Berth."""

    def run(url_prefix: str, document: str) -> AbstractContextManager[ChildProcess]:
        path = tmp_path / "for-scheduler-config.yaml"
        path.write_text(document)
        printed = berth_scheduler_config(f"--url={url_prefix}", f"--config={path}")
        return control_plane.scheduler(yaml.safe_load(printed), flags=FLAGS[retries])

    return run


@pytest.fixture
def scheduled(control_plane: ControlPlane, run_with_gangs: RunWithGangs, tmp_path: Path) -> Iterator[ExtenderCache]:
    """Berth and the scheduler with gangs."""
    with serve(control_plane, tmp_path, document=PLAIN) as berth, run_with_gangs(berth.url_prefix, PLAIN):
        yield ExtenderCache(berth)


@pytest.mark.parametrize("size", [pytest.param(4, marks=pytest.mark.core), 32])
def test_feasible_gang_is_bound_completely(
    size: int, scheduled: ExtenderCache, cluster: Cluster, api: KubernetesApi
) -> None:
    scheduled.wait_for_feasible(_create_nodes(cluster, size))

    started = time.monotonic()
    gang = _create_gang(cluster, "train", size)
    created = time.monotonic()
    _wait_until("the gang is bound", lambda: len(_bound(api, gang)) == size, PLACED_SECONDS)
    bound = time.monotonic()

    print(
        f"gang of {size}: bound {bound - created:.1f} s after its last member, {bound - started:.1f} s after its first"
    )
    assert len(set(_bound(api, gang).values())) == size


@pytest.mark.parametrize("retries", [BOUNDED, UNBOUNDED])
def test_infeasible_gang_is_never_bound_in_part_and_runs_after_missing_node_is_added(
    scheduled: ExtenderCache, cluster: Cluster, api: KubernetesApi
) -> None:
    nodes = _create_nodes(cluster, 3)
    scheduled.wait_for_feasible(nodes)
    gang = _create_gang(cluster, "train", 4)
    does_not_fit = none_available({DOES_NOT_FIT: len(nodes)})
    for pod in gang:
        cluster.wait_until_unschedulable(pod, does_not_fit)

    started = time.monotonic()
    others = [cluster.create_pod(f"other-{number}") for number in range(10)]
    _wait_until("other pods are bound", lambda: len(_bound(api, others)) == len(others), PLACED_SECONDS)
    print(f"{len(others)} other pods: bound {time.monotonic() - started:.1f} s after the first was created")
    time.sleep(STABLE_SECONDS)
    assert _bound(api, gang) == {}

    allowed = {does_not_fit, none_available({WAITS_FOR_MEMBERS: len(nodes)})}
    for pod in gang:
        messages = _failed_scheduling(api, pod)
        assert any(message.startswith(does_not_fit) for message in messages)
        assert all(message.startswith(tuple(allowed)) for message in messages), messages

    added_at = time.monotonic()
    cluster.create_node("missing", cpu=NODE_CPU)
    _wait_until("the gang is bound", lambda: len(_bound(api, gang)) == len(gang), PLACED_SECONDS)
    print(f"gang of 4: bound {time.monotonic() - added_at:.1f} s after the missing node was added")
    assert len(set(_bound(api, gang).values())) == len(gang)


@pytest.mark.parametrize("repetition", range(REPETITIONS))
def test_of_two_interleaved_gangs_one_runs_and_then_the_other(
    repetition: int, scheduled: ExtenderCache, cluster: Cluster, api: KubernetesApi
) -> None:
    size = 6
    scheduled.wait_for_feasible(_create_nodes(cluster, size))
    gangs: dict[str, list[Pod]] = {"first": [], "second": []}
    started = time.monotonic()
    for number in range(size):
        for name, members in gangs.items():
            members.append(_create_member(cluster, name, number, size))
    both = [pod for members in gangs.values() for pod in members]

    _wait_until("a gang is bound", lambda: len(_bound(api, both)) >= size, PLACED_SECONDS)
    print(f"one of two gangs of 6: bound {time.monotonic() - started:.1f} s after the first member was created")
    time.sleep(STABLE_SECONDS)
    running, waiting = sorted(gangs.values(), key=lambda members: -len(_bound(api, members)))
    assert len(_bound(api, running)) == size
    assert _bound(api, waiting) == {}

    for pod in running:
        cluster.end_containers(pod)
    ended_at = time.monotonic()
    _wait_until("the other gang is bound", lambda: len(_bound(api, waiting)) == size, PLACED_SECONDS)
    print(f"the other gang of 6: bound {time.monotonic() - ended_at:.1f} s after the first had ended")


def test_counted_resources_of_gang_are_reserved_for_all_members_or_none(
    control_plane: ControlPlane,
    run_with_gangs: RunWithGangs,
    cluster: Cluster,
    api: KubernetesApi,
    tmp_path: Path,
) -> None:
    file = tmp_path / "ledger.json"
    licences = {cluster.create_node("two", extended={LICENCE: "2"}): 2}
    licences[cluster.create_node("one", extended={LICENCE: "1"})] = 1
    with (
        counted_resources(control_plane),
        serve(
            control_plane,
            tmp_path,
            document=COUNTED,
            command=(sys.executable, "-m", "tests.e2e.berth.serve_with_ledger", file),
        ) as berth,
        run_with_gangs(berth.url_prefix, COUNTED),
    ):
        ExtenderCache(berth).wait_for_feasible(licences)
        _wait_until("the nodes have a ledger", lambda: licences.keys() <= ledger_in(file).keys(), NODE_LEDGER_SECONDS)
        gang = _create_gang(cluster, "train", 4, cpu="100m", extended={LICENCE: "1"})
        for pod in gang:
            cluster.wait_until_unschedulable(pod, none_available({DOES_NOT_FIT: len(licences)}))
        time.sleep(STABLE_SECONDS)
        assert _bound(api, gang) == {}
        assert _entries(file) == {node: {} for node in licences}

        added_at = time.monotonic()
        licences[cluster.create_node("missing", extended={LICENCE: "1"})] = 1
        _wait_until("the gang is bound", lambda: len(_bound(api, gang)) == len(gang), NODE_LEDGER_SECONDS)
        print(f"gang of 4: bound {time.monotonic() - added_at:.1f} s after a node with the fourth licence was added")

        wanted: dict[str, dict[str, object]] = {node: {} for node in licences}
        for name, node in _bound(api, gang).items():
            wanted[node][f"default/{name}"] = {"state": "bound", "shares": {LICENCE: 1}}
        assert {node: len(entries) for node, entries in wanted.items()} == licences
        _wait_until("the ledger has the members", lambda: _entries(file) == wanted, LEDGER_SECONDS)
        for node in ledger_in(file).values():
            assert (node["avail"].get(LICENCE, 0), node["owed"]) == (0, {})


def _create_nodes(cluster: Cluster, count: int) -> list[str]:
    return [cluster.create_node(f"node-{number}", cpu=NODE_CPU) for number in range(count)]


def _create_gang(
    cluster: Cluster, name: str, size: int, *, cpu: str = MEMBER_CPU, extended: Mapping[str, str] | None = None
) -> list[Pod]:
    return [_create_member(cluster, name, number, size, cpu=cpu, extended=extended) for number in range(size)]


def _create_member(
    cluster: Cluster,
    gang: str,
    number: int,
    size: int,
    *,
    cpu: str = MEMBER_CPU,
    extended: Mapping[str, str] | None = None,
) -> Pod:
    annotations = {"berth.dev/gang": gang, "berth.dev/gang-size": str(size)}
    return cluster.create_pod(f"{gang}-{number}", cpu=cpu, annotations=annotations, extended=extended)


def _bound(api: KubernetesApi, pods: Sequence[Pod]) -> dict[str, str]:
    """The nodes of those that have one, by the pod's name."""
    names = {pod.name for pod in pods}
    found = api.get("/api/v1/namespaces/default/pods")["items"]
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in found
        if pod["metadata"]["name"] in names and pod["spec"].get("nodeName")
    }


def _failed_scheduling(api: KubernetesApi, pod: Pod) -> list[str]:
    """The messages of the pod's events."""
    events = api.get("/api/v1/namespaces/default/events")["items"]
    return [
        event["message"]
        for event in events
        if (event["involvedObject"].get("uid"), event["reason"]) == (pod.uid, "FailedScheduling")
    ]


def _entries(file: Path) -> dict[str, dict[str, object]]:
    """The entries of the ledger, by node."""
    return {node: found["entries"] for node, found in ledger_in(file).items()}


def _wait_until(what: str, holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.1)
