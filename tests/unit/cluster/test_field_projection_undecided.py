"""Pods that no verb has decided about, by their condition PodScheduled."""

from __future__ import annotations

from typing import Any

import pytest

from berth.cluster.watch.resources import PODS
from berth.extender.outcomes import WAITING
from berth.scheduling.objects.projection import UNDECIDED
from tests.builders.pods import pod_object
from tests.unit.cluster.projected import kept

CREATED = "2026-03-01T12:00:00Z"
UNTRIED = {"createdAt": CREATED, "callFailed": False, "scheduler": "berth-scheduler"}
FAILED = {**UNTRIED, "callFailed": True}
URL = "https://berth.example.com/scheduler"


def undecided(pod: dict[str, Any]) -> object:
    return kept(PODS, pod | {"metadata": pod["metadata"] | {"creationTimestamp": CREATED}}).get(UNDECIDED)


def pod(*conditions: dict[str, object], **status: object) -> dict[str, Any]:
    return {**pod_object(), "status": {"phase": "Pending", "conditions": list(conditions), **status}}


def scheduled(reason: str, message: str, status: str = "False") -> dict[str, object]:
    return {"type": "PodScheduled", "status": status, "reason": reason, "message": message}


def changed(part: str, **fields: object) -> dict[str, Any]:
    found = pod()
    return found | {part: found[part] | fields}


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        pytest.param(pod(), UNTRIED, id="no scheduler has tried it"),
        pytest.param(pod_object(), UNTRIED, id="without status"),
        pytest.param(pod({"type": "Ready", "status": "False"}), UNTRIED, id="another condition"),
        pytest.param(changed("spec", schedulingGates=[{"name": "example.com/gate"}]), None, id="gated"),
        pytest.param(changed("metadata", deletionTimestamp=CREATED), None, id="being deleted"),
        pytest.param(changed("spec", nodeName="n1"), None, id="on a node"),
        pytest.param(pod(nominatedNodeName="n1"), None, id="nominated"),
        pytest.param({**pod(), "status": {"phase": "Failed"}}, None, id="ended"),
    ],
)
def test_marks_pods_that_no_scheduler_has_tried(obj: dict[str, Any], wanted: object) -> None:
    assert undecided(obj) == wanted


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        pytest.param(f'Post "{URL}/filter": remote error: tls: expired certificate', FAILED, id="expired certificate"),
        pytest.param(f'Post "{URL}/filter": dial tcp: lookup berth.example.com: no such host', FAILED, id="DNS"),
        pytest.param(f'Post "{URL}/filter_onlyone": context deadline exceeded', FAILED, id="timeout"),
        pytest.param(f"failed bind with extender at URL {URL}/bind, code 403", FAILED, id="another status than 200"),
        pytest.param("the gang did not come together", None, id="bind's own error"),
        pytest.param(WAITING, None, id="filter's own error"),
        pytest.param('running "VolumeBinding" filter plugin: timed out', None, id="error of another plugin"),
    ],
)
def test_marks_pods_whose_call_of_a_verb_failed(message: str, wanted: object) -> None:
    """The texts of HTTPExtender.send of kube-scheduler; the address is the configured one."""
    assert undecided(pod(scheduled("SchedulerError", message))) == wanted


@pytest.mark.parametrize("message", ["0/3 nodes are available: 3 Insufficient cpu.", "no nodes available to schedule"])
def test_does_not_mark_rejected_pods(message: str) -> None:
    assert undecided(pod(scheduled("Unschedulable", message))) is None
