"""Fields kept of PodGroups and of pods that name a gang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from berth.cluster.field_projection import RequiredFields, projection_id, projections
from berth.cluster.watch.resources import GANG_RESOURCES, PODS
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import PodGroupApi, gang_names, read_pod_group
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import is_member, rejected_by_berth
from tests.builders.gangs import custom_group_object, member_object, native_group_object
from tests.unit.cluster.projected import LITTLE, WHOLE_POD, kept

GANGS = RequiredFields.of(BerthConfiguration.model_validate({"gangs": {"enabled": True}}).policy())


def test_watches_pod_groups_only_if_gangs_are_enabled() -> None:
    assert set(projections(GANGS)) - set(projections(LITTLE)) == set(GANG_RESOURCES)
    assert not any(each.is_optional for each in projections(RequiredFields.of(BerthConfiguration().policy())))


@pytest.mark.parametrize("api", [each.group for each in GANG_RESOURCES])
@pytest.mark.parametrize("build", [native_group_object, custom_group_object])
def test_projected_pod_group_parses_like_the_original(api: str, build: Callable[..., dict[str, Any]]) -> None:
    [resource] = [each for each in GANG_RESOURCES if each.group == api]
    whole = build(priority=3, scheduleTimeoutSeconds=9, minResources={"cpu": "4"}, disruptionMode={"single": {}})
    whole["status"] = {"phase": "Pending"}
    projected = kept(resource, whole, GANGS)
    assert read_pod_group(projected, PodGroupApi(api)) == read_pod_group(whole, PodGroupApi(api))
    assert projected.keys() == {"metadata", "spec"}
    assert projected["spec"].keys().isdisjoint({"minResources", "disruptionMode"})


@pytest.mark.parametrize(
    "way",
    [{}, {"gang": None, "label": "train"}, {"gang": None, "group": "train"}],
    ids=["annotations", "label", "spec"],
)
@pytest.mark.parametrize("node_name", ["", "n1"], ids=["waiting", "on a node"])
def test_projected_member_still_names_its_gang(way: dict[str, Any], node_name: str) -> None:
    projected = PodReader().read(dict(projections(GANGS)[PODS](member_object(**way, node_name=node_name))))
    assert isinstance(projected, Pod)
    assert gang_names(projected) == ("train",)
    assert projected.created_at == (None if node_name else 1767225600.0)


def test_creation_time_of_pods_is_dropped_without_gangs() -> None:
    assert "creationTimestamp" not in kept(PODS, member_object())["metadata"]


@pytest.mark.parametrize(("needs", "is_own"), [(GANGS, True), (LITTLE, False)], ids=["enabled", "off"])
@pytest.mark.parametrize("reason", ["gang waits for members", "gang does not fit", "gang size is below 1"])
def test_gang_reasons_are_reasons_of_berth(reason: str, needs: RequiredFields, is_own: bool) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": f"0/3 nodes are available: 3 {reason}. no new"}
    assert rejected_by_berth(kept(PODS, WHOLE_POD | {"status": {"conditions": [condition]}}, needs)) is is_own


def test_projection_id_differs_with_gangs() -> None:
    """A watcher that goes on from what another one kept would not know when pods were created."""
    assert projection_id(RequiredFields(gangs=True)) != projection_id(RequiredFields())


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        (member_object(), True),
        (member_object(gang=None, label="train"), True),
        (member_object(gang=None, legacy_label="train"), True),
        (member_object(gang=None, group="train"), True),
        (member_object(gang=None), False),
        (WHOLE_POD, False),
    ],
    ids=["annotations", "label", "legacy label", "spec", "none", "another pod"],
)
def test_projected_pod_is_recognized_as_a_gang_member(pod: dict[str, Any], wanted: bool) -> None:
    assert is_member(projections(GANGS)[PODS](pod)) is wanted
