"""The names of pools: of nodes, devices, the cluster, labels and namespaces."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.scheduling.managed_resources.pools import (
    MAX_DEVICES,
    annotation_of,
    by_owner,
    cluster_pool,
    device_of,
    devices_in,
    domain_of,
    index_in,
    is_floating,
    label_pool,
    limits_namespace,
    namespace_pool,
    pool_of,
    resource_of,
)

SEAT, GPU = "example.com/seat", "nvidia.com/gpumem"
ZONE = "topology.kubernetes.io/zone"
IN_CLUSTER = "example.com/seat@cluster"
IN_ZONE = "example.com/seat@topology.kubernetes.io/zone=a"
IN_NAMESPACE = "example.com/seat@namespace=team-a"


@pytest.mark.parametrize(
    ("pool", "name", "resource", "domain", "limits"),
    [
        pytest.param(cluster_pool(SEAT), IN_CLUSTER, SEAT, "cluster", False, id="cluster"),
        pytest.param(label_pool(SEAT, ZONE, "a"), IN_ZONE, SEAT, f"{ZONE}=a", False, id="label"),
        pytest.param(namespace_pool(SEAT, "team-a"), IN_NAMESPACE, SEAT, "namespace=team-a", True, id="namespace"),
        pytest.param(
            label_pool(SEAT, "namespaces", "a"), f"{SEAT}@namespaces=a", SEAT, "namespaces=a", False, id="key"
        ),
    ],
)
def test_floating_pool_has_resource_and_domain_in_its_name(
    pool: str, name: str, resource: str, domain: str, limits: bool
) -> None:
    assert pool == name
    assert is_floating(pool)
    assert (resource_of(pool), domain_of(pool), limits_namespace(pool)) == (resource, domain, limits)
    assert device_of(pool) is None


@pytest.mark.parametrize(
    ("pool", "resource", "device"),
    [
        pytest.param(SEAT, SEAT, None, id="resource without devices"),
        pytest.param(pool_of(GPU, 12), GPU, (GPU, 12), id="device"),
        pytest.param("node-a.example.com", "node-a.example.com", None, id="name of a node"),
    ],
)
def test_pool_of_a_node_is_not_a_floating_pool(pool: str, resource: str, device: tuple[str, int] | None) -> None:
    assert not is_floating(pool)
    assert not limits_namespace(pool)
    assert (resource_of(pool), domain_of(pool), device_of(pool)) == (resource, "", device)


@pytest.mark.parametrize(
    ("shares", "owners"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({SEAT: 1, f"{GPU}#1": 3000}, {"n1": {SEAT: 1, f"{GPU}#1": 3000}}, id="only the node"),
        pytest.param({IN_CLUSTER: 2}, {IN_CLUSTER: {IN_CLUSTER: 2}}, id="only a floating pool"),
        pytest.param(
            {IN_ZONE: 1, SEAT: 1, IN_NAMESPACE: 1},
            {IN_ZONE: {IN_ZONE: 1}, "n1": {SEAT: 1}, IN_NAMESPACE: {IN_NAMESPACE: 1}},
            id="the node and every floating pool",
        ),
    ],
)
def test_each_floating_pool_owns_its_ledger(shares: Mapping[str, int], owners: Mapping[str, object]) -> None:
    assert by_owner(shares, "n1") == owners


def test_lists_devices_of_shares() -> None:
    assert devices_in({SEAT: 1, f"{GPU}#3": 500, IN_CLUSTER: 1}) == {GPU: 3}


def test_device_annotation_is_a_valid_annotation_key() -> None:
    assert annotation_of("nvidia.com/gpumem") == "berth.dev/nvidia.com.gpumem"


@pytest.mark.parametrize(
    ("value", "index"),
    [
        pytest.param("0", 0, id="first device"),
        pytest.param(str(MAX_DEVICES - 1), MAX_DEVICES - 1, id="last possible device"),
        pytest.param(str(MAX_DEVICES), None, id="beyond the last possible device"),
        pytest.param("01", None, id="leading zero"),
        pytest.param("-1", None, id="negative"),
        pytest.param("\u0661", None, id="digit of another script"),
        pytest.param("1 ", None, id="space"),
        pytest.param("9" * 30, None, id="very long"),
        pytest.param(1, None, id="not a text"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_reads_the_index_of_a_device_from_its_pool(value: object, index: int | None) -> None:
    assert index_in(value) == index
