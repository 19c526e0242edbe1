"""Which waiting gangs certainly lack members."""

from __future__ import annotations

from typing import Any

import pytest

from berth.upkeep.missing_members import MissingMembers
from tests.builders.gangs import member_object
from tests.builders.pods import pod_object

Object = dict[str, Any]


def gated(number: int) -> Object:
    obj = member_object(f"train-{number}", size=2)
    return {**obj, "spec": {**obj["spec"], "schedulingGates": [{"name": "quota"}]}}


@pytest.mark.parametrize(
    ("members", "lacks"),
    [
        pytest.param([member_object("train-0", size=2)], True, id="one of two"),
        pytest.param([member_object("train-0", size=2), member_object("train-1", size=2)], False, id="two of two"),
        pytest.param([member_object("train-0", size=2), gated(1)], True, id="the other is gated"),
        pytest.param([member_object("train-0", size=3), member_object("train-1", size=2)], False, id="sizes differ"),
        pytest.param([member_object("train-0", size="two")], False, id="the size is not a number"),
        pytest.param(
            [member_object("train-0", size=2), member_object("train-1", size=2, gang="other")],
            True,
            id="of another gang",
        ),
        pytest.param(
            [member_object("train-0", size=3), member_object("train-1", size=3, node_name="n1")],
            False,
            id="one has a node",
        ),
        pytest.param(
            [member_object("train-0", size=2, gang=None, label="train")], False, id="a PodGroup defines the gang"
        ),
        pytest.param([pod_object("train-0")], False, id="no member"),
    ],
)
def test_gang_lacks_members_until_waiting_members_reach_its_size(members: list[Object], lacks: bool) -> None:
    missing = MissingMembers()
    for number, obj in enumerate(members):
        missing.put(f"ml/{number}", obj)
    assert missing.lacks("ml/0") is lacks


def test_counts_members_that_are_created_changed_and_deleted() -> None:
    missing = MissingMembers()
    missing.put("ml/0", member_object("train-0", size=2))
    missing.put("ml/1", member_object("train-1", size=2))
    missing.put("ml/1", None)
    assert missing.lacks("ml/0")
    missing.put("ml/0", member_object("train-0", size=1))
    assert not missing.lacks("ml/0")
