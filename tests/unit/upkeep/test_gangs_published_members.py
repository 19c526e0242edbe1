"""Which members of gangs are on nodes, according to the publications."""

from __future__ import annotations

from typing import Any

import pytest

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import PODS
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.scheduling.feasibility import SYSTEM_CRITICAL_PRIORITY
from berth.scheduling.gangs.gang import GangKey
from berth.upkeep.gangs import PublishedMembers
from tests.builders.gangs import member_object
from tests.builders.planned import gang_policy

PROJECTION = projections(RequiredFields.of(gang_policy()))[PODS]
TRAIN = GangKey("ml", "train")


def member(
    name: str = "train-0",
    node: str = "n0",
    phase: str = "Running",
    deleted: bool = False,
    priority: int = 0,
    owner: str = "StatefulSet",
    **named: Any,
) -> Change:
    obj = member_object(name, **named)
    obj["spec"] |= {"nodeName": node, "priority": priority}
    reference = {"kind": owner, "apiVersion": "apps/v1", "name": "owner", "uid": "owner", "controller": True}
    obj["metadata"]["ownerReferences"] = [reference]
    obj["status"] = {"phase": phase}
    if deleted:
        obj["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    return Change("pods", f"ml/{name}", PROJECTION(obj))


def publication(*changes: Change, is_complete: bool = True) -> Publication:
    objects = {(change.resource, change.key): change.object for change in changes if change.object is not None}
    return Publication(1, changes, objects, is_complete, Observation("cluster", {}), {})


def members_after(*publications: Publication) -> PublishedMembers:
    found = PublishedMembers(gang_policy().was_exempt)
    for each in publications:
        found.published(each)
    return found


@pytest.mark.parametrize(
    ("change", "is_on_node"),
    [
        pytest.param(member(), True, id="on a node"),
        pytest.param(member(node="", phase="Pending"), False, id="not on a node"),
        pytest.param(member(deleted=True), False, id="being deleted"),
        pytest.param(member(phase="Succeeded"), False, id="finished"),
        pytest.param(member(gang=None), False, id="without a gang"),
        pytest.param(member(gang="other"), False, id="of another gang"),
        pytest.param(member(gang=None, label="train"), True, id="by its label"),
        pytest.param(member(priority=SYSTEM_CRITICAL_PRIORITY), False, id="exempt by its priority"),
        pytest.param(member(owner="DaemonSet"), False, id="of a DaemonSet"),
        pytest.param(member(gang=None, group="train"), True, id="by its scheduling group"),
    ],
)
def test_counts_members_on_nodes(change: Change, is_on_node: bool) -> None:
    assert bool(members_after(publication(change)).on_nodes(TRAIN)) is is_on_node


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(Change("pods", "ml/train-0", None), id="deleted"),
        pytest.param(member(deleted=True), id="it is being deleted"),
        pytest.param(member(phase="Failed"), id="it ended"),
    ],
)
def test_updates_the_count_with_each_publication(change: Change) -> None:
    found = members_after(publication(member(), member("train-1")))
    assert len(found.on_nodes(TRAIN)) == 2
    found.published(publication(change))
    assert len(found.on_nodes(TRAIN)) == 1


def test_does_not_count_members_until_the_publication_is_complete() -> None:
    found = members_after(publication(member(), is_complete=False))
    assert found.on_nodes(TRAIN) == frozenset()
    found.published(publication(member()))
    assert len(found.on_nodes(TRAIN)) == 1
