"""Requests of pods for counted resources."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.scheduling.managed_resources.demand import Demand, UnreadableRequest
from berth.scheduling.objects import read_pod
from berth.scheduling.objects.pod import Pod
from berth.scheduling.reason_code import ReasonCode
from tests.builders.counted import ANNOTATED, LICENCE, MEMORY, SLICES, asking, counting


def pod_of(*containers: Mapping[str, object], init: tuple[Mapping[str, object], ...] = ()) -> Pod:
    found = read_pod({"metadata": {"name": "p"}, "spec": {"containers": [*containers], "initContainers": [*init]}})
    assert isinstance(found, Pod)
    return found


def wants(amount: str, kind: str = "requests", **rest: object) -> Mapping[str, object]:
    return {"resources": {kind: {LICENCE: amount}}, **rest}


@pytest.mark.parametrize(
    ("pod", "demands"),
    [
        pytest.param(asking(), (), id="no request"),
        pytest.param(asking(licence="0"), (), id="an amount of 0"),
        pytest.param(asking(cpu="1"), (), id="an uncounted resource"),
        pytest.param(asking(licence="2"), (Demand(LICENCE, 2),), id="one resource"),
        pytest.param(asking(gpumem="3000", licence="1"), (Demand(LICENCE, 1), Demand(MEMORY, 3000)), id="two"),
        pytest.param(asking(percentage="50"), (Demand(MEMORY, 50, percent=True),), id="per cent of a device"),
        pytest.param(
            asking(percentage="50", gpumem="10"),
            (Demand(MEMORY, 10),),
            id="an amount takes precedence over a percentage",
        ),
        pytest.param(pod_of(wants("1"), wants("2")), (Demand(LICENCE, 3),), id="containers add up"),
        pytest.param(pod_of(wants("1"), init=(wants("5"),)), (Demand(LICENCE, 5),), id="the largest init container"),
        pytest.param(
            pod_of(wants("1"), init=(wants("2", restartPolicy="Always"), wants("2"))),
            (Demand(LICENCE, 4),),
            id="an init container beside a sidecar",
        ),
        pytest.param(pod_of(wants("2", "limits")), (Demand(LICENCE, 2),), id="the limit if there is no request"),
        pytest.param(
            pod_of({"resources": {"limits": {LICENCE: "3"}, "requests": {LICENCE: "2"}}}),
            (Demand(LICENCE, 2),),
            id="the request if there is one",
        ),
        pytest.param(
            asking(percentage="101"),
            UnreadableRequest(
                "the pod's request of nvidia.com/gpumem-percentage is more than 100 per cent",
                ReasonCode.REQUEST_ABOVE_DEVICE,
            ),
            id="more than a device",
        ),
        pytest.param(
            asking(licence="9" * 18),
            UnreadableRequest("the pod's request of example.com/licence is not an amount of at most 10^15"),
            id="an amount above 10^15",
        ),
    ],
)
def test_reads_request_from_containers(pod: Pod, demands: object) -> None:
    assert counting().demands(pod) == demands


@pytest.mark.parametrize(
    ("value", "demands"),
    [
        pytest.param("3", (Demand(LICENCE, 3),), id="a number"),
        pytest.param("2500m", (Demand(LICENCE, 3),), id="rounded up"),
        pytest.param("0", (), id="no request"),
        pytest.param("-1", None, id="negative"),
        pytest.param("three", None, id="a word"),
        pytest.param("1" * 19, None, id="19 digits"),
    ],
)
def test_reads_request_from_annotation(value: str, demands: object) -> None:
    cause = UnreadableRequest("the pod's annotation seats is not an amount of at most 10^15")
    assert counting(ANNOTATED).demands(asking(annotations={"seats": value})) == (cause if demands is None else demands)


def test_ignores_container_requests_if_an_annotation_is_configured() -> None:
    assert counting(ANNOTATED).demands(asking(licence="3")) == ()


@pytest.mark.parametrize(
    ("pod", "cause"),
    [
        pytest.param(
            asking(annotations={"seats": "three"}, gpumem="3000"),
            "the pod's annotation seats is not an amount of at most 10^15",
            id="a readable request beside it",
        ),
        pytest.param(
            asking(annotations={"seats": "three"}, gpumem="9" * 18),
            "the pod's request of nvidia.com/gpumem is not an amount of at most 10^15",
            id="an unreadable request of containers beside another",
        ),
        pytest.param(
            asking(gpumem="9" * 18, percentage="50"),
            "the pod's request of nvidia.com/gpumem is not an amount of at most 10^15",
            id="percentage beside an invalid amount",
        ),
    ],
)
def test_one_unreadable_request_makes_a_waiting_pod_unreadable(pod: Pod, cause: str) -> None:
    assert counting(ANNOTATED, SLICES).demands(pod) == UnreadableRequest(cause)
