"""A pod's requests: the amounts that filters compare, that count on a node, and that scores assume."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.fields.requests import HostPort, read_host_ports, read_images, read_requests

Object = dict[str, Any]


def container(cpu: str | None = None, **fields: Any) -> Object:
    return {"name": "app", "resources": {"requests": {} if cpu is None else {"cpu": cpu}}, **fields}


def sidecar(cpu: str, **fields: Any) -> Object:
    return container(cpu, restartPolicy="Always", **fields)


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"containers": [container("1"), container("2")]}, 3000, id="containers add up"),
        pytest.param({"containers": [container()]}, None, id="no request"),
        pytest.param({"containers": [container("0")]}, None, id="a request of 0 is none"),
        pytest.param({"containers": [container("1")], "overhead": {"cpu": "500m"}}, 1500, id="overhead is added"),
        pytest.param({"containers": [container("1")], "initContainers": [container("4")]}, 4000, id="larger init"),
        pytest.param({"containers": [container("3")], "initContainers": [container("2")]}, 3000, id="smaller init"),
        pytest.param({"containers": [container("1")], "initContainers": [sidecar("2")]}, 3000, id="sidecars add up"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [sidecar("1"), container("4")]},
            5000,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("4"), sidecar("1")]},
            4000,
            id="and not beside later ones",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "7"}}}, 7000, id="the pod level replaces"
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "7"}}, "overhead": {"cpu": "1"}},
            8000,
            id="and gets the overhead too",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"memory": "1Gi"}, "limits": {"cpu": "3"}}},
            1000,
            id="it replaces each resource of its own requests",
        ),
        pytest.param({"containers": [container("100n")]}, 1, id="rounded up once"),
        pytest.param({"containers": [container("1500u"), container("1500u")]}, 3, id="summed before rounding"),
    ],
)
def test_sums_the_requests_of_the_containers_in_the_spec(spec: Object, cpu: int | None) -> None:
    assert read_requests(spec, {}).asked.get("cpu") == cpu


@pytest.mark.parametrize(
    ("status", "placed"),
    [
        pytest.param({}, 2000, id="no resize"),
        pytest.param(
            {"containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "3"}}}]}, 3000, id="larger"
        ),
        pytest.param(
            {"containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]}, 2000, id="smaller"
        ),
        pytest.param(
            {
                "containerStatuses": [
                    {"name": "app", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "4"}}
                ]
            },
            4000,
            id="allocated",
        ),
        pytest.param(
            {
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
                "containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}],
            },
            1000,
            id="an infeasible resize does not count",
        ),
        pytest.param(
            {"containerStatuses": [{"name": "other", "resources": {"requests": {"cpu": "9"}}}]}, 2000, id="another name"
        ),
        pytest.param(
            {"containerStatuses": [{"name": "app", "allocatedResources": {"cpu": "4"}}]}, 2000, id="no resources"
        ),
        pytest.param({"resources": {"requests": {"cpu": "9"}}}, 2000, id="a pod level that the spec does not have"),
    ],
)
def test_places_the_larger_of_spec_and_status_during_a_resize(status: Object, placed: int) -> None:
    found = read_requests({"containers": [container("2")]}, status)
    assert found.asked["cpu"] == 2000
    assert found.placed["cpu"] == placed


@pytest.mark.parametrize(
    ("kind", "placed"), [pytest.param(sidecar, 5000, id="sidecar"), pytest.param(container, 2000, id="init container")]
)
def test_resizes_only_sidecars_among_init_containers(kind: Any, placed: int) -> None:
    spec: Object = {"containers": [container("1")], "initContainers": [kind("2", name="init")]}
    status: Object = {"initContainerStatuses": [{"name": "init", "resources": {"requests": {"cpu": "4"}}}]}
    assert read_requests(spec, status).placed["cpu"] == placed


def test_resizes_the_requests_of_the_pod_level() -> None:
    spec: Object = {"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}}
    assert read_requests(spec, {"resources": {"requests": {"cpu": "3"}}}).placed["cpu"] == 3000


@pytest.mark.parametrize(
    ("spec", "non_zero", "scored"),
    [
        pytest.param({"containers": [container("1")]}, 1000, 1000, id="a request"),
        pytest.param({"containers": [container(), container("1")]}, 1100, 1100, id="100m without one"),
        pytest.param(
            {"containers": [container()], "resources": {"requests": {"cpu": "1"}}},
            1000,
            100,
            id="the pod level replaces the default, and is not scored",
        ),
        pytest.param(
            {"containers": [container()], "resources": {"requests": {"memory": "1Gi"}}}, 100, 100, id="of memory alone"
        ),
    ],
)
def test_assumes_default_requests_only_for_scores(spec: Object, non_zero: int, scored: int) -> None:
    found = read_requests(spec, {})
    assert (found.non_zero_cpu, found.scored["cpu"]) == (non_zero, scored)


@pytest.mark.parametrize(
    ("name", "amount", "beyond"),
    [
        pytest.param("example.com/unit", str((1 << 63) - 1), set(), id="the largest"),
        pytest.param("example.com/unit", str(1 << 63), {"example.com/unit"}, id="one more"),
        pytest.param("memory", str(1 << 63), set(), id="native"),
    ],
)
def test_names_requests_beyond_64_bits(name: str, amount: str, beyond: set[str]) -> None:
    spec: Object = {"containers": [{"resources": {"requests": {name: amount}}}]}
    assert read_requests(spec, {}).beyond == beyond


def test_reads_host_ports_of_containers_and_sidecars() -> None:
    ports: list[Object] = [
        {"hostPort": 80},
        {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
        {"hostPort": 0},
        {},
    ]
    spec: Object = {
        "containers": [{"ports": ports}],
        "initContainers": [{"ports": [{"hostPort": 1}]}, {"ports": [{"hostPort": 2}], "restartPolicy": "Always"}],
    }
    assert read_host_ports(spec) == (
        HostPort("0.0.0.0", "TCP", 80),
        HostPort("10.0.0.1", "UDP", 53),
        HostPort("0.0.0.0", "TCP", 2),
    )


def test_reads_images_as_a_node_lists_them() -> None:
    spec: Object = {
        "containers": [{"image": "app:1"}, {"image": "host:5000/app"}],
        "initContainers": [{"image": "init"}],
        "volumes": [{"image": {"reference": "data"}}, {"emptyDir": {}}],
    }
    found = read_images(spec)
    assert set(found.names) == {"app:1", "host:5000/app:latest", "init:latest", "data:latest"}
    assert found.containers == 3
