"""The queue: selection and order of pods."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from berth.scheduling.objects import Pod, read_pod
from berth_cli.placement.queue import SkipReason, build_queue

OURS = {"default-scheduler"}


def pod(name: str, namespace: str = "default", **spec: object) -> Pod:
    status: Any = spec.pop("status", {})
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", **spec.pop("metadata", {})}  # type: ignore[dict-item]
    read = read_pod({"metadata": metadata, "spec": {"schedulerName": "default-scheduler", **spec}, "status": status})
    assert isinstance(read, Pod)
    return read


def created(second: int) -> dict[str, Any]:
    return {"metadata": {"creationTimestamp": f"2026-01-01T00:00:0{second}Z"}}


def test_sorts_by_priority_then_age_then_namespace_and_name() -> None:
    pods = [
        pod("b", priority=0),
        pod("last", priority=-1, **created(0)),
        pod("a"),
        pod("c", "another", priority=0),
        pod("young", "another", **created(2)),
        pod("old", "zzz", **created(1)),
        pod("first", "zzz", priority=9, **created(3)),
    ]
    names = [each.name for each in build_queue(pods, OURS).pods]
    assert names == ["first", "old", "young", "c", "a", "b", "last"]


def test_pod_that_a_controller_creates_again_is_the_youngest() -> None:
    pods = [pod("again", **created(1)), pod("waiting", **created(2))]
    names = [each.name for each in build_queue(pods, OURS, {("default", "again")}).pods]
    assert names == ["waiting", "again"]


def test_sorts_replicas_by_their_numbers() -> None:
    pods = [pod(name) for name in ("lic-10", "lic-9", "lic-1a", "lic", "2", "lic-1")]
    assert [each.name for each in build_queue(pods, OURS).pods] == ["2", "lic", "lic-1", "lic-1a", "lic-9", "lic-10"]


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
def test_skips_pod_and_counts_the_reason(other: Pod, why: SkipReason) -> None:
    found = build_queue([pod("waiting"), other], OURS)
    assert [each.name for each in found.pods] == ["waiting"]
    assert found.skipped == Counter({why: 1})


def test_queues_all_pods_without_given_scheduler_names() -> None:
    assert len(build_queue([pod("p", schedulerName="volcano"), pod("q")], ()).pods) == 2


def test_names_the_scheduler_with_the_most_pods_first() -> None:
    """A misspelled name has few pods."""
    pods = [pod(name, schedulerName=other) for name, other in (("a", "bert"), ("b", "berth"), ("c", "berth"))]
    assert build_queue(pods, OURS).other_schedulers == ("berth", "bert")
