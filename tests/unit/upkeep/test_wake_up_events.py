"""The events of a published change for waiting pods."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.nodecache.feed.changes import Object
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import ALL_EVENTS, EVENTS_ON_ONE_NODE, GANG_EVENTS, NODE_EVENTS, ClusterEvent
from berth.scheduling.objects.projection import compact_pod
from berth.upkeep.wake_up import WaitingPod, object_event, pod_events, waiting_pod
from tests.unit.upkeep.published_pods import GANG, pod

ADD, UPDATE, DELETE = (
    ClusterEvent.ASSIGNED_POD_ADD,
    ClusterEvent.ASSIGNED_POD_UPDATE,
    ClusterEvent.ASSIGNED_POD_DELETE,
)
UNSCHEDULED, MEMBER = ClusterEvent.UNSCHEDULED_POD, ClusterEvent.GANG_MEMBER

WAITING, PLACED, ENDED = pod(), pod(node="n1"), pod(phase="Succeeded")


@pytest.mark.parametrize(
    ("before", "now", "events"),
    [
        pytest.param(None, WAITING, {UNSCHEDULED}, id="created"),
        pytest.param(None, PLACED, {ADD}, id="created and bound"),
        pytest.param(None, None, {DELETE}, id="created, possibly bound and removed"),
        pytest.param(None, ENDED, {DELETE}, id="created, bound and finished"),
        pytest.param(WAITING, PLACED, {ADD, UNSCHEDULED}, id="bound"),
        pytest.param(WAITING, None, {DELETE, UNSCHEDULED}, id="possibly bound and removed"),
        pytest.param(WAITING, ENDED, {DELETE, UNSCHEDULED}, id="bound and finished"),
        pytest.param(WAITING, pod(rejected=True), set(), id="rejected"),
        pytest.param(WAITING, pod(labels={"a": "b"}), {UNSCHEDULED}, id="waiting with other labels"),
        pytest.param(WAITING, pod(shared="{'spec':{}}"), {UNSCHEDULED}, id="waiting without its gates"),
        pytest.param(pod(nominated="n1"), WAITING, {DELETE, UNSCHEDULED}, id="no longer nominated"),
        pytest.param(pod(nominated="n1"), pod(nominated="n2"), {DELETE, UNSCHEDULED}, id="nominated to another node"),
        pytest.param(WAITING, pod(nominated="n1"), set(), id="nominated"),
        pytest.param(pod(nominated="n1"), PLACED, {ADD, UPDATE, UNSCHEDULED}, id="bound to its nominated node"),
        pytest.param(pod(nominated="n1"), pod(node="n2"), {DELETE, ADD, UNSCHEDULED}, id="bound elsewhere"),
        pytest.param(PLACED, pod(node="n2"), {DELETE, ADD}, id="on another node, after a restore of etcd"),
        pytest.param(PLACED, pod(node="n1", phase="Running"), set(), id="started"),
        pytest.param(PLACED, pod(node="n1", labels={"a": "b"}), {UPDATE}, id="other labels on its node"),
        pytest.param(PLACED, pod(node="n1", shared="{'status':{}}"), {UPDATE}, id="resized on its node"),
        pytest.param(PLACED, ENDED, {DELETE}, id="finished on its node"),
        pytest.param(PLACED, None, {DELETE}, id="removed from its node"),
        pytest.param(ENDED, None, set(), id="removed after it finished"),
        pytest.param(ENDED, pod(uid="2"), {UNSCHEDULED}, id="recreated after it finished"),
        pytest.param(None, pod(gang=True), {MEMBER}, id="a member is created"),
        pytest.param(WAITING, pod(gang=True), {MEMBER}, id="a pod becomes a member"),
        pytest.param(pod(gang=True), WAITING, {MEMBER}, id="a member leaves its gang"),
        pytest.param(pod(gang=True), None, {DELETE, MEMBER}, id="a member is removed"),
        pytest.param(pod(gang=True), pod(gang=True, shared="{'spec':{}}"), {MEMBER}, id="a member loses its gates"),
        pytest.param(pod(gang=True), pod(gang=True, rejected=True), set(), id="a member is rejected"),
    ],
)
def test_pod_change_produces_events(before: Object | None, now: Object | None, events: set[ClusterEvent]) -> None:
    assert set(pod_events(before, now)) == events


@pytest.mark.parametrize(
    ("resource", "now", "event"),
    [
        ("nodes", {}, ClusterEvent.NODE_UPDATE),
        ("nodes", None, ClusterEvent.NODE_DELETE),
        ("namespaces", {}, ClusterEvent.NAMESPACE),
        ("podgroups.scheduling.k8s.io", {}, ClusterEvent.POD_GROUP),
        ("podgroups.scheduling.x-k8s.io", None, ClusterEvent.POD_GROUP),
        ("services", {}, ClusterEvent.OTHERS),
        ("poddisruptionbudgets", {}, ClusterEvent.OTHERS),
    ],
)
def test_change_of_another_object_produces_an_event(resource: str, now: Object | None, event: ClusterEvent) -> None:
    assert object_event(resource, now) is event


# Which pods wait, and which events can make them fit.

FULL = EVENTS_ON_ONE_NODE | {ClusterEvent.NODE_DELETE, ClusterEvent.NAMESPACE, ClusterEvent.OTHERS}


@pytest.mark.parametrize(
    ("document", "scheduler", "expected"),
    [
        pytest.param({"profile": "label-priority"}, "", WaitingPod(NODE_EVENTS), id="events of its profile"),
        pytest.param(
            {"profiles": {"other": "full"}}, "other", WaitingPod(FULL), id="events of its scheduler's profile"
        ),
        pytest.param(
            {"gangs": {"enabled": True}}, "", WaitingPod(GANG_EVENTS, is_member=True), id="events of its gang"
        ),
    ],
)
def test_waiting_pod_has_the_events_of_its_policy(
    document: Mapping[str, object], scheduler: str, expected: WaitingPod
) -> None:
    policy = BerthConfiguration.model_validate(document).policy()
    metadata = {"name": "waiting", "namespace": "ml", "uid": "1", "annotations": GANG}
    obj = compact_pod({"metadata": metadata, "spec": {"schedulerName": scheduler}}, GANG.keys())
    assert waiting_pod(policy, obj) is None
    assert waiting_pod(policy, {**obj, "rejectedByBerth": True}) == expected


def test_unreadable_pod_waits_for_all_events() -> None:
    policy = BerthConfiguration().policy()
    assert waiting_pod(policy, {"metadata": 7, "rejectedByBerth": True}) == WaitingPod(ALL_EVENTS)
