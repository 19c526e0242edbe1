"""Shares of placed pods, and the choice of pools for a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from berth.scheduling.managed_resources.demand import Demand, UnreadableRequest
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import left
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod import Pod
from berth.scheduling.reason_code import ReasonCode
from tests.builders.counted import ANNOTATED, LICENCE, MEMORY, PERCENTAGE, SIZES, SLICES, asking, counting, on_device
from tests.unit.scheduling.managed_resources.counted_nodes import NO_SHARES, pools

# --------------------------------------------------------------------------------------------------------------- shares
CAPACITY = {LICENCE: 4, **pools(8000, 16000)}


@pytest.mark.parametrize(
    ("pod", "shares"),
    [
        pytest.param(asking(node="n"), {}, id="no request"),
        pytest.param(asking(node="n", licence="2"), {LICENCE: 2}, id="requested amount without devices"),
        pytest.param(
            asking(node="n", annotations=on_device(1), gpumem="3000"),
            {f"{MEMORY}#1": 3000},
            id="requested amount on its device",
        ),
        pytest.param(
            asking(node="n", annotations=on_device(1), percentage="33"),
            {f"{MEMORY}#1": 5280},
            id="percentage of its device",
        ),
        pytest.param(
            asking(node="n", annotations=on_device(7), gpumem="3000"),
            {f"{MEMORY}#7": 3000},
            id="requested amount on a removed device",
        ),
        pytest.param(asking(node="n", gpumem="3000", licence="1"), None, id="without annotation: unknown device"),
        pytest.param(
            asking(node="n", annotations=on_device(7), percentage="33"), None, id="percentage of a removed device"
        ),
        pytest.param(asking(node="n", licence="9" * 18), {}, id="invalid amount counts as 0"),
        pytest.param(
            replace(asking(node="n", licence="2"), assumed_shares={LICENCE: 1}), {LICENCE: 1}, id="reserved amount"
        ),
    ],
)
def test_reads_shares_of_a_placed_pod(pod: Pod, shares: Mapping[str, int] | None) -> None:
    assert counting().shares(pod, CAPACITY) == shares


def test_counts_the_first_device_if_the_node_lacks_devices() -> None:
    assert counting().adopted(asking(node="n", gpumem="3000"), {}, {}) == {f"{MEMORY}#0": 3000}
    assert counting().adopted(asking(node="n", percentage="50"), {}, {}) == {}


LIMITED = {"name": LICENCE, "capacity": {"nodeLabel": LICENCE}, "podLimit": 2}


@pytest.mark.parametrize(
    ("amount", "demands"),
    [
        pytest.param("2", (Demand(LICENCE, 2),), id="up to the limit"),
        pytest.param(
            "3",
            UnreadableRequest(
                f"the pod's request of {LICENCE} is larger than its podLimit", ReasonCode.REQUEST_ABOVE_POD_LIMIT
            ),
            id="above the limit",
        ),
    ],
)
def test_treats_request_above_pod_limit_as_unreadable(
    amount: str, demands: tuple[Demand, ...] | UnreadableObject
) -> None:
    assert counting(LIMITED).demands(asking(licence=amount)) == demands


def test_counts_a_placed_pod_at_most_up_to_the_pod_limit() -> None:
    pods = [asking("a", "n", licence="1"), asking("b", "n", licence="9")]
    assert counting(LIMITED).used(pods, {LICENCE: 8}) == {LICENCE: 3}
    assert counting(SLICES).used(pods, CAPACITY) == {}


SEATS = {**ANNOTATED, "name": "example.com/seat"}
ALL = (LIMITED, SLICES, SEATS)
FIRST = f"{MEMORY}#0"


@pytest.mark.parametrize(
    ("pod", "shares", "uncounted"),
    [
        pytest.param(
            asking(node="n", annotations={"seats": "three"} | on_device(0), gpumem="3000", licence="2"),
            {LICENCE: 2, FIRST: 3000},
            {"example.com/seat"},
            id="an invalid annotation",
        ),
        pytest.param(
            asking(node="n", annotations={"seats": "2"} | on_device(0), gpumem="9" * 18, licence="2"),
            {LICENCE: 2, "example.com/seat": 2},
            {MEMORY},
            id="a request above 10^15",
        ),
        pytest.param(
            asking(node="n", annotations=on_device(0), percentage="101", licence="2"),
            {LICENCE: 2},
            {MEMORY},
            id="more than 100 per cent",
        ),
        pytest.param(
            asking(node="n", annotations=on_device(0), percentage="50", gpumem="9" * 18),
            {FIRST: 4000},
            set(),
            id="percentage beside an invalid amount",
        ),
    ],
)
def test_counts_readable_requests_despite_unreadable_request_of_same_pod(
    pod: Pod, shares: Mapping[str, int], uncounted: set[str]
) -> None:
    found, capacity = counting(*ALL), {**CAPACITY, "example.com/seat": 4}
    assert found.shares(pod, capacity) == found.adopted(pod, capacity, capacity) == shares
    assert found.charged(pod, capacity, capacity) == found.used([pod], capacity) == shares
    assert found.uncounted(pod) == uncounted
    assert isinstance(found.demands(pod), UnreadableRequest)


def test_limits_a_readable_request_of_a_placed_pod_despite_an_unreadable_one() -> None:
    pod = asking(node="n", annotations={"seats": "three"} | on_device(1), gpumem="99000", licence="9")
    found = counting(*ALL)
    assert found.charged(pod, CAPACITY, CAPACITY) == {LICENCE: 2, f"{MEMORY}#1": 16_000}
    assert found.beyond_limit(pod, CAPACITY) == {LICENCE: 2, MEMORY: 16_000}


def test_resizes_percentage_of_placed_pod_beside_unreadable_request() -> None:
    pod = asking(node="n", annotations={"seats": "three"} | on_device(0), percentage="50")
    assert counting(*ALL).resized(pod, pools(4000), pools(9000)) == pools(4500)


def test_charges_more_after_growth_beside_an_unreadable_request() -> None:
    pod = asking(node="n", annotations={"seats": "three"} | on_device(0), gpumem="9000")
    assert counting(*ALL).charged_after_growth(pod, pools(4000), pools(4000), pools(8000)) == pools(8000)


def test_shares_are_unknown_if_a_readable_request_lacks_a_device() -> None:
    pod = asking(node="n", annotations={"seats": "three"}, gpumem="3000")
    assert not counting(*ALL).names_devices(pod)
    assert counting(*ALL).shares(pod, CAPACITY) is None


# --------------------------------------------------------------------------------------------------------------- choose
SPREAD = {"name": MEMORY, "devices": {"sizes": {"nodeAnnotation": SIZES}, "packing": "spread"}}


@pytest.mark.parametrize(
    ("resource", "amount", "free", "device"),
    [
        pytest.param(SLICES, 3000, (8000, 4000), 1, id="best fit: smallest sufficient room"),
        pytest.param(SLICES, 3000, (8000, 2000), 0, id="best fit: skips devices with too little room"),
        pytest.param(SLICES, 3000, (3000, 3000), 0, id="best fit: the first of equal ones"),
        pytest.param(SPREAD, 3000, (4000, 8000), 1, id="spread: the most room"),
        pytest.param(SPREAD, 3000, (8000, 8000), 0, id="spread: the first of equal ones"),
        pytest.param(SLICES, 3000, (2999, 2999), None, id="one request is not split among devices"),
    ],
)
def test_chooses_the_device_by_the_configured_packing(
    resource: Mapping[str, object], amount: int, free: tuple[int, int], device: int | None
) -> None:
    demands = (Demand(MEMORY, amount),)
    found = counting(resource).choose(demands, pools(8000, 8000), pools(*free))
    assert found == (Insufficient((MEMORY,), False) if device is None else {f"{MEMORY}#{device}": amount})


def test_identifies_devices_by_number() -> None:
    capacity = dict(sorted(pools(*[100] * 12).items()))
    assert counting(SPREAD).choose((Demand(MEMORY, 1),), capacity, capacity) == {f"{MEMORY}#0": 1}
    assert counting(SLICES).pools(MEMORY, capacity)[-1] == f"{MEMORY}#11"


@pytest.mark.parametrize(
    ("percent", "shares"),
    [
        pytest.param(50, {f"{MEMORY}#0": 4000}, id="percentage of the chosen device"),
        pytest.param(100, {f"{MEMORY}#0": 8000}, id="a whole device"),
        pytest.param(1, {f"{MEMORY}#0": 80}, id="a small percentage"),
    ],
)
def test_percentage_refers_to_one_device(percent: int, shares: Mapping[str, int]) -> None:
    assert counting().choose((Demand(MEMORY, percent, percent=True),), CAPACITY, CAPACITY) == shares


def test_rounds_the_amount_of_a_percentage_up() -> None:
    assert Demand(MEMORY, 33, percent=True).of(10) == 4
    assert Demand(MEMORY, 1, percent=True).of(1) == 1


@pytest.mark.parametrize(
    ("demands", "free", "found"),
    [
        pytest.param((), {}, {}, id="no demands"),
        pytest.param((Demand(LICENCE, 4),), CAPACITY, {LICENCE: 4}, id="the whole capacity"),
        pytest.param(
            (Demand(LICENCE, 4),), {LICENCE: 3}, Insufficient((LICENCE,), never=False), id="less is available"
        ),
        pytest.param(
            (Demand(LICENCE, 5),), CAPACITY, Insufficient((LICENCE,), never=True), id="more than the capacity"
        ),
        pytest.param(
            (Demand(LICENCE, 4), Demand(MEMORY, 20_000)),
            {LICENCE: 3, **pools(8000, 16000)},
            Insufficient((LICENCE, MEMORY), never=True),
            id="all shortages, unresolvable if one is",
        ),
        pytest.param(
            (Demand(LICENCE, 1), Demand(MEMORY, 9000)),
            {LICENCE: 4},
            Insufficient((MEMORY,), never=False),
            id="one of two is short",
        ),
    ],
)
def test_chooses_pools_for_all_requests_or_returns_the_shortage(
    demands: tuple[Demand, ...], free: Mapping[str, int], found: object
) -> None:
    assert counting().choose(demands, CAPACITY, free) == found


def test_binding_annotation_contains_the_device_number() -> None:
    found = counting()
    assert found.annotations({LICENCE: 2, f"{MEMORY}#1": 3000}) == {"berth.dev/nvidia.com.gpumem": "1"}
    assert found.annotations({LICENCE: 2}) == found.annotations(NO_SHARES) == {}


def test_remaining_amount_is_never_negative() -> None:
    assert left({LICENCE: 4}, {LICENCE: 5, "gone": 1}) == {LICENCE: 0}


def test_lists_annotations_that_the_cache_must_keep() -> None:
    found = counting(SLICES, ANNOTATED, {"name": "example.com/x", "capacity": {"nodeAnnotation": "x"}})
    assert found.pod_annotations == {"berth.dev/nvidia.com.gpumem", "seats"}
    assert found.node_annotations == {SIZES, "x"}
    assert counting({"name": LICENCE}).pod_annotations == counting({"name": LICENCE}).node_annotations == set()


def test_lists_resources_that_the_scheduler_must_ignore() -> None:
    seen = {**SLICES, "ignoredByScheduler": False}
    assert counting(SLICES).ignored_by_scheduler == {MEMORY, PERCENTAGE}
    # Nodes do not have percentages in allocatable, so the scheduler must ignore them in any case.
    assert counting(seen).ignored_by_scheduler == {PERCENTAGE}
