"""Counting in floating pools: of the cluster, of a label's value, and of a namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import Insufficient, NoDomain
from berth.scheduling.objects.pod import Pod
from tests.builders.counted import LICENCE, MEMORY, SIZES, asking, counting, on_device

SEAT, CONNECTION = "example.com/seat", "example.com/conn"
ZONE = "topology.kubernetes.io/zone"
IN_CLUSTER = {"name": SEAT, "capacity": {"value": 5, "scope": "cluster"}}
IN_ZONE = {"name": CONNECTION, "capacity": {"value": 9, "scope": ZONE}, "perNamespace": 4}
PER_NAMESPACE = {"name": LICENCE, "perNamespace": 3}
SLICES = {"name": MEMORY, "devices": {"sizes": {"nodeAnnotation": SIZES}}, "perNamespace": 6000}

SEATS = f"{SEAT}@cluster"
CONNECTIONS, CONNECTIONS_OF_ML = f"{CONNECTION}@{ZONE}=a", f"{CONNECTION}@namespace=ml"
LICENCES_OF_ML, MEMORY_OF_ML = f"{LICENCE}@namespace=ml", f"{MEMORY}@namespace=ml"
IN_A: Mapping[str, str] = {ZONE: "a", "other": "x"}
NO_LABELS: Mapping[str, str] = {}


def requesting(name: str = "p", annotations: Mapping[str, str] | None = None, **amounts: str) -> Pod:
    """Return a pod on the node n; amounts: by the last part of the resource's name."""
    requests: dict[str, Any] = {{"seat": SEAT, "conn": CONNECTION}.get(key, key): each for key, each in amounts.items()}
    return asking(name, "n", annotations, **requests)


def all_kinds() -> Counting:
    return counting(IN_CLUSTER, IN_ZONE, PER_NAMESPACE, SLICES)


@pytest.mark.parametrize(
    ("demands", "labels", "shares"),
    [
        pytest.param((), IN_A, {}, id="no demands"),
        pytest.param((Demand(SEAT, 2),), NO_LABELS, {SEATS: 2}, id="the cluster, on any node"),
        pytest.param((Demand(CONNECTION, 2),), IN_A, {CONNECTIONS: 2, CONNECTIONS_OF_ML: 2}, id="a label and a limit"),
        pytest.param((Demand(LICENCE, 2),), NO_LABELS, {LICENCES_OF_ML: 2}, id="a limit of a resource of nodes"),
        pytest.param((Demand(MEMORY, 3000),), NO_LABELS, {MEMORY_OF_ML: 3000}, id="a limit of devices"),
        pytest.param(
            (Demand(SEAT, 1), Demand(CONNECTION, 2), Demand(LICENCE, 3)),
            IN_A,
            {SEATS: 1, CONNECTIONS: 2, CONNECTIONS_OF_ML: 2, LICENCES_OF_ML: 3},
            id="all of them",
        ),
        pytest.param(
            (Demand(SEAT, 1), Demand(CONNECTION, 2)), {"other": "x"}, NoDomain(CONNECTION, ZONE), id="a missing label"
        ),
    ],
)
def test_takes_floating_shares_from_every_domain_of_the_node(
    demands: tuple[Demand, ...], labels: Mapping[str, str], shares: object
) -> None:
    assert all_kinds().floating.shares(demands, "ml", labels) == shares


def test_floating_shares_are_empty_without_floating_pools() -> None:
    found = counting({"name": LICENCE})
    assert not found.floating.exist
    assert found.floating.shares((Demand(LICENCE, 2),), "ml", IN_A) == {}
    assert found.floating.of_cluster == found.floating.label_keys == found.floating.of((LICENCE,), "ml", IN_A) == set()


def test_reports_the_missing_label() -> None:
    found = all_kinds().floating.shares((Demand(CONNECTION, 1),), "ml", NO_LABELS)
    assert isinstance(found, NoDomain)
    assert found.reason == "node(s) had no label topology.kubernetes.io/zone, by which example.com/conn is counted"


@pytest.mark.parametrize(
    ("resources", "labels", "pools"),
    [
        pytest.param((SEAT, CONNECTION), IN_A, {SEATS, CONNECTIONS, CONNECTIONS_OF_ML}, id="every domain"),
        pytest.param((CONNECTION,), NO_LABELS, {CONNECTIONS_OF_ML}, id="a missing label"),
        pytest.param((LICENCE, MEMORY), IN_A, {LICENCES_OF_ML, MEMORY_OF_ML}, id="limits"),
        pytest.param(("example.com/other",), IN_A, set(), id="a resource that is not counted"),
        pytest.param((), IN_A, set(), id="no resource"),
    ],
)
def test_returns_the_floating_pools_of_each_resource(
    resources: tuple[str, ...], labels: Mapping[str, str], pools: set[str]
) -> None:
    assert all_kinds().floating.of(resources, "ml", labels) == pools


def test_returns_the_floating_pools_of_the_cluster_and_of_a_node() -> None:
    found = all_kinds()
    assert found.floating.of_cluster == {SEATS}
    assert found.floating.label_keys == {ZONE}
    assert found.floating.of_labels(IN_A) == {CONNECTIONS}
    assert found.floating.of_labels(NO_LABELS) == set()


@pytest.mark.parametrize(
    ("owner", "pod", "shares"),
    [
        pytest.param(SEATS, requesting(seat="2"), {SEATS: 2}, id="the cluster"),
        pytest.param(CONNECTIONS, requesting(conn="2"), {CONNECTIONS: 2}, id="a label"),
        pytest.param(LICENCES_OF_ML, requesting(licence="2"), {LICENCES_OF_ML: 2}, id="a limit"),
        pytest.param(MEMORY_OF_ML, requesting(gpumem="3000"), {MEMORY_OF_ML: 3000}, id="a limit of devices"),
        pytest.param(
            MEMORY_OF_ML,
            requesting(annotations=on_device(1), gpumem="3000"),
            {MEMORY_OF_ML: 3000},
            id="a limit, whatever the device",
        ),
        pytest.param(SEATS, requesting(licence="2"), {}, id="another resource"),
        pytest.param("example.com/other@cluster", requesting(seat="2"), {}, id="an unknown pool"),
    ],
)
def test_counts_share_of_a_pod_in_its_floating_pool(owner: str, pod: Pod, shares: Mapping[str, int]) -> None:
    capacity = {owner: 6000}
    found = all_kinds().at(owner)
    assert found.shares(pod, capacity) == found.adopted(pod, capacity, capacity) == shares
    assert found.charged(pod, capacity, capacity) == found.used([pod], capacity) == shares
    assert found.has_room_as_annotated(pod, capacity, capacity)


def test_ledger_of_a_node_counts_only_resources_of_nodes() -> None:
    pod = requesting(annotations=on_device(0), gpumem="3000", licence="2", seat="1", conn="1")
    found, capacity = all_kinds(), {LICENCE: 4, f"{MEMORY}#0": 8000}
    assert found.at("n") is found
    assert found.shares(pod, capacity) == found.charged(pod, capacity, capacity) == {LICENCE: 2, f"{MEMORY}#0": 3000}


def test_charges_a_pod_at_most_the_capacity_of_the_pool() -> None:
    pod = requesting(seat="9")
    found = all_kinds().at(SEATS)
    assert found.charged(pod, {SEATS: 5}, {SEATS: 0}) == {SEATS: 5}
    assert found.beyond_limit(pod, {SEATS: 5}) == {SEAT: 5}


@pytest.mark.parametrize(
    ("free", "chosen"),
    [
        pytest.param(2, {SEATS: 2}, id="enough"),
        pytest.param(1, Insufficient((SEAT,), never=False), id="too little is left"),
    ],
)
def test_chooses_the_pool_of_the_requested_resource(free: int, chosen: object) -> None:
    demands = (Demand(SEAT, 2), Demand(LICENCE, 1))
    assert all_kinds().at(SEATS).choose(demands, {SEATS: 5}, {SEATS: free}) == chosen


@pytest.mark.parametrize(
    ("demands", "chosen"),
    [
        pytest.param((Demand(SEAT, 99), Demand(LICENCE, 1)), {LICENCE: 1}, id="beside a resource of the node"),
        pytest.param((Demand(SEAT, 99), Demand(CONNECTION, 99)), {}, id="alone"),
    ],
)
def test_choice_on_a_node_contains_only_pools_of_nodes(demands: tuple[Demand, ...], chosen: Mapping[str, int]) -> None:
    assert all_kinds().choose(demands, {LICENCE: 4}, {LICENCE: 4}) == chosen


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        pytest.param(SEATS, "Insufficient example.com/seat in the cluster", id="the cluster"),
        pytest.param(
            CONNECTIONS, "Insufficient example.com/conn in the node's topology.kubernetes.io/zone", id="a label"
        ),
        pytest.param(LICENCES_OF_ML, "Insufficient example.com/licence in the pod's namespace", id="a namespace"),
        pytest.param(LICENCE, "Insufficient example.com/licence", id="a node"),
    ],
)
def test_reports_shortage_without_the_value_of_the_domain(pool: str, reason: str) -> None:
    assert Insufficient((pool,), never=False).text == reason


@pytest.mark.parametrize(
    ("before", "now", "anew"),
    [
        pytest.param({}, {SEATS: 5}, {SEAT}, id="a pool that is new"),
        pytest.param({SEATS: 3}, {SEATS: 5}, set(), id="a pool of another size"),
        pytest.param({SEATS: 3}, {}, set(), id="a pool that is gone"),
    ],
)
def test_finds_a_pool_that_its_ledger_does_not_count_yet(
    before: Mapping[str, int], now: Mapping[str, int], anew: set[str]
) -> None:
    assert all_kinds().at(SEATS).counted_anew(before, now) == anew


@pytest.mark.parametrize(
    ("owner", "pool", "is_other"),
    [
        pytest.param("n", SEAT, False, id="a resource that is in the cluster now"),
        pytest.param("n", LICENCE, False, id="a resource of the node"),
        pytest.param("n", MEMORY, True, id="a resource of the node that has devices now"),
        pytest.param(SEATS, SEATS, False, id="a pool of the cluster"),
        pytest.param(MEMORY_OF_ML, MEMORY_OF_ML, False, id="a limit of devices"),
        pytest.param("n", "example.com/other", False, id="a resource that is not counted"),
    ],
)
def test_finds_pools_in_which_a_resource_is_not_counted_any_more(owner: str, pool: str, is_other: bool) -> None:
    found = all_kinds()
    assert found.at(owner).has_other_pools(pool, set(found.resources)) is is_other
