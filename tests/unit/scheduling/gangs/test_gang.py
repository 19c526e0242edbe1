"""The gang of a pod, and the defects of a gang."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.gangs.gang import REASONS, Gang, GangError, GangKey, InvalidGang, gang_of
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi
from tests.builders.gangs import ENABLED, custom_group_object, member, native_group_object, pod_group
from tests.builders.pods import pod

KEY = GangKey("ml", "train")
CREATED = 1767225600.0
GROUPS = {
    group.key: group
    for group in (
        pod_group(native_group_object(minimum=2, schedulingConstraints={"topology": [{"key": "rack"}]}, priority=7)),
        pod_group(native_group_object("single", None)),
        pod_group(native_group_object("broken", "many")),
        pod_group(custom_group_object(minimum=3, scheduleTimeoutSeconds=30), PodGroupApi.COSCHEDULING),
        pod_group(custom_group_object(minimum=5), PodGroupApi.LEGACY),
        pod_group(custom_group_object("none", 0), PodGroupApi.COSCHEDULING),
        pod_group(custom_group_object("slow", 4, scheduleTimeoutSeconds=0), PodGroupApi.COSCHEDULING),
        pod_group(custom_group_object("patient", 4, scheduleTimeoutSeconds=3600), PodGroupApi.COSCHEDULING),
    )
}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param(
            {"gang": None, "group": "train"}, Gang(KEY, 2, "rack", 60, 7, CREATED), id="a PodGroup of Kubernetes"
        ),
        pytest.param(
            {"gang": None, "label": "train"},
            Gang(KEY, 3, "", 30, None, CREATED),
            id="a coscheduling PodGroup with its own timeout",
        ),
        pytest.param(
            {"gang": None, "legacy_label": "train"}, Gang(KEY, 5, "", 60, None, CREATED), id="the label before v0.25"
        ),
        pytest.param({}, Gang(KEY, 4, "", 60), id="Berth's annotations"),
        pytest.param(
            {"topology_key": "topology.kubernetes.io/zone", "timeout": "50"},
            Gang(KEY, 4, "topology.kubernetes.io/zone", 50),
            id="the optional annotations",
        ),
        pytest.param({"timeout": "3600"}, Gang(KEY, 4, "", 60), id="a timeout above the operator's limit"),
        pytest.param(
            {"gang": None, "label": "patient"},
            Gang(GangKey("ml", "patient"), 4, "", 60, None, CREATED),
            id="a PodGroup timeout above the operator's limit",
        ),
        pytest.param(
            {"group": "train", "label": "train", "legacy_label": "train"},
            Gang(KEY, 2, "rack", 60, 7, CREATED),
            id="the first source is used if all give one name",
        ),
        pytest.param(
            {"label": "train", "legacy_label": "train", "size": 9},
            Gang(KEY, 3, "", 30, None, CREATED),
            id="the label takes precedence over the annotations",
        ),
        pytest.param({"gang": None, "group": "single"}, None, id="a PodGroup without gang scheduling"),
    ],
)
def test_gang_comes_from_the_first_matching_source(fields: dict[str, Any], wanted: Gang | None) -> None:
    assert gang_of(member(**fields), GROUPS, ENABLED) == wanted


def test_pod_without_a_gang_is_placed_individually() -> None:
    assert gang_of(pod(), GROUPS, ENABLED) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"size": None}, "gang size is not a number", id="no size"),
        pytest.param({"size": "four"}, "gang size is not a number", id="a word as size"),
        pytest.param({"size": "9" * 5000}, "gang size is not a number", id="a very long size"),
        pytest.param({"size": 0}, "gang size is below 1", id="a size of 0"),
        pytest.param({"size": 1001}, "gang is larger than maxMembers", id="a size above maxMembers"),
        pytest.param({"gang": ""}, "gang name is not a name", id="an empty name"),
        pytest.param({"gang": "a b"}, "gang name is not a name", id="a name with a blank"),
        pytest.param({"topology_key": "a b"}, "gang topology key is not a label key", id="a topology key with a blank"),
        pytest.param(
            {"timeout": "soon"}, "gang timeout is not a number of seconds from 1 to 3600", id="a word as timeout"
        ),
        pytest.param({"timeout": "0"}, "gang timeout is not a number of seconds from 1 to 3600", id="a timeout of 0"),
        pytest.param(
            {"gang": None, "label": "slow"},
            "gang timeout is not a number of seconds from 1 to 3600",
            id="a timeout of 0 in the PodGroup",
        ),
        pytest.param({"gang": None, "group": "gone"}, "gang has no PodGroup", id="a PodGroup that does not exist"),
        pytest.param(
            {"gang": None, "group": "broken"}, "gang has a PodGroup that cannot be read", id="a PodGroup of wrong type"
        ),
        pytest.param({"gang": None, "label": "none"}, "gang size is below 1", id="minMember 0"),
        pytest.param({"group": "other"}, "pod is in two gangs", id="two names"),
    ],
)
def test_rejects_gang_that_cannot_be_planned(fields: dict[str, Any], reason: str) -> None:
    found = gang_of(member(**fields), GROUPS, ENABLED)
    assert isinstance(found, InvalidGang)
    assert str(found.error) == reason


def test_scheduling_group_without_a_readable_name_is_an_invalid_gang() -> None:
    """The pod requests to be placed with other pods: placed individually, it would take the room of those pods."""
    unnamed = member(gang=None, spec={"schedulingGroup": {"podGroupName": 7}})
    assert isinstance(gang_of(unnamed, GROUPS, ENABLED), InvalidGang)


def test_pod_groups_of_the_same_name_in_two_namespaces_are_different() -> None:
    elsewhere = member(gang=None, group="train", namespace="other")
    assert gang_of(elsewhere, GROUPS, ENABLED) == InvalidGang(GangError.NO_POD_GROUP, GangKey("other", "train"))


def test_reasons_do_not_contain_gang_specific_values() -> None:
    """A text that changes between attempts wakes the pod again at once (facts 15 and 17)."""
    assert not [reason for reason in REASONS if "{" in reason or "%" in reason]
    assert {"gang waits for members", "gang does not fit"} <= REASONS


def test_unreadable_pod_group_reports_its_own_defect() -> None:
    found = pod_group(custom_group_object(minimum="x"), PodGroupApi.COSCHEDULING)
    assert found == PodGroup(
        PodGroupApi.COSCHEDULING, "ml", "train", created_at=CREATED, defect="PodGroup.spec.minMember is not an integer"
    )
