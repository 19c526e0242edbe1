"""Which pods are placed, and in which order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from berth.scheduling.objects import Pod, read_pod
from berth_cli.simulate.queue import SkipReason, build_queue

OURS = {"default-scheduler"}


def pod(name: str, namespace: str = "default", **spec: object) -> Pod:
    status: Any = spec.pop("status", {})
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", **spec.pop("metadata", {})}  # type: ignore[dict-item]
    read = read_pod({"metadata": metadata, "spec": {"schedulerName": "default-scheduler", **spec}, "status": status})
    assert isinstance(read, Pod)
    return read


def test_the_highest_priority_comes_first_and_equal_ones_go_by_namespace_and_name() -> None:
    pods = [
        pod("b", priority=0),
        pod("last", priority=-1),
        pod("a"),
        pod("c", "another", priority=0),
        pod("first", "zzz", priority=9),
    ]
    assert [each.name for each in build_queue(pods, OURS).pods] == ["first", "c", "a", "b", "last"]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        pytest.param(pod("p", status={"phase": "Succeeded"}), SkipReason.FINISHED, id="has ended"),
        pytest.param(pod("p", status={"phase": "Failed"}), SkipReason.FINISHED, id="has failed"),
        pytest.param(pod("p", metadata={"deletionTimestamp": "x"}), SkipReason.TERMINATING, id="is being deleted"),
        pytest.param(pod("p", schedulingGates=[{"name": "g"}]), SkipReason.GATED, id="is gated"),
        pytest.param(pod("p", schedulerName="volcano"), SkipReason.ANOTHER_SCHEDULER, id="has another scheduler"),
    ],
)
def test_left_out_is_a_pod_that(other: Pod, why: SkipReason) -> None:
    found = build_queue([pod("waiting"), other], OURS)
    assert [each.name for each in found.pods] == ["waiting"]
    assert found.skipped == Counter({why: 1})


def test_a_pod_without_a_scheduler_has_the_default_one() -> None:
    assert len(build_queue([pod("p", schedulerName="")], OURS).pods) == 1


def test_other_schedulers_are_named() -> None:
    assert build_queue([pod("p", schedulerName="volcano")], OURS).other_schedulers == {"volcano"}


def test_without_names_every_schedulers_pods_are_taken() -> None:
    assert len(build_queue([pod("p", schedulerName="volcano"), pod("q")], ()).pods) == 2
