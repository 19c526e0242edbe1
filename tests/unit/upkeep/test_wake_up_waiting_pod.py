"""Which pods wait, and which events can make them fit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import ALL_EVENTS, EVENTS_ON_ONE_NODE, GANG_EVENTS, NODE_EVENTS, ClusterEvent
from berth.scheduling.objects.projection import compact_pod
from berth.upkeep.wake_up import WaitingPod, waiting_pod
from tests.unit.upkeep.published_pods import GANG

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
