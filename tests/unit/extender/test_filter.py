"""The answer of filter: each rejected node in one of the two maps, with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from berth.extender.deadline import Deadline
from berth.extender.filter import answer_filter, answer_filter_onlyone
from berth.extender.outcomes import WAITING, FilterOutcome
from berth.extender.reply import Decision, Reply
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.objects import PriorityClass
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.gangs import member_object, members
from tests.builders.nodes import labelled, node, node_with
from tests.builders.planned import gang_configuration, room_for
from tests.builders.pods import pod_object, pod_with, tried
from tests.builders.requests import body_of, cache_mode, full_mode
from tests.fakes.node_cache import FixedNodeCache


@pytest.mark.parametrize(
    ("names", "code"),
    [
        pytest.param(["a", "b", "c", "worded"], "PriorityLabelMissing", id="reason of most nodes"),
        pytest.param(["new"], "NodeNotInCache", id="reason of the only node"),
        pytest.param(["worded", "a"], "PriorityLabelMissing", id="first by name of equally frequent reasons"),
        pytest.param(["a", "worded"], "PriorityLabelMissing", id="independent of the order of the request"),
        pytest.param(["a", "fits"], "", id="no code if a node fits"),
    ],
)
@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
def test_log_names_the_code_of_the_main_reason(answer: Callable[..., Reply], names: list[str], code: str) -> None:
    nodes = [*map(node, "abc"), labelled("worded", "x"), labelled("fits", "1")]
    cache = FixedNodeCache(BerthConfiguration(), Snapshot.of(nodes))
    assert answer(body_of(cache_mode(names)), cache).reason_code == code


class CountedOpenGangs:
    """Returns the given open gangs, and counts the reads."""

    def __init__(self, *opened: OpenGang) -> None:
        self.reads, self._opened = 0, opened

    def __call__(self, deadline: Deadline) -> Sequence[OpenGang]:
        self.reads += 1
        return self._opened


MEMBERS = members("train", 2, requests={"cpu": "1"})
GANGS = gang_configuration()
ROOMS = [room_for("a", 2), room_for("b", 2)]


@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
def test_gang_members_get_the_places_of_the_plan(answer: Callable[..., Reply]) -> None:
    opened = CountedOpenGangs(OpenGang(GangKey("ml", "train"), 0, {MEMBERS[0].uid: "b"}))
    cache = FixedNodeCache(GANGS, Snapshot.of(ROOMS, MEMBERS))
    body = body_of(cache_mode(["a", "b"], member_object("train-0", "train", 2, requests={"cpu": "1"})))
    found = orjson.loads(answer(body, cache, open_gangs=opened).body)
    assert found["NodeNames"][0] == "b"
    assert found["FailedNodes"] == {}
    assert not found["Error"]


@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
@pytest.mark.parametrize(("size", "mask", "codes"), [(2, b"\1\1", []), (3, b"\0\0", ["GangWaitsForMembers"] * 2)])
def test_decision_about_a_gang_member_has_a_verdict_for_each_node(
    answer: Callable[..., Reply], size: int, mask: bytes, codes: Sequence[str]
) -> None:
    cache = FixedNodeCache(GANGS, Snapshot.of(ROOMS, members("train", size, count=2, requests={"cpu": "1"})))
    body = body_of(cache_mode(["a", "b"], member_object("train-0", "train", size, requests={"cpu": "1"})))
    decision = answer(body, cache).decision
    assert isinstance(decision, Decision)
    assert decision.verdicts is not None
    assert decision.verdicts.mask == mask
    assert [code for each in decision.verdicts.rejected.values() for code in each.reason_codes] == codes


def test_open_gangs_are_read_only_for_gang_members() -> None:
    """The read costs a call to a table."""
    opened = CountedOpenGangs()
    cache = FixedNodeCache(GANGS, Snapshot.of(ROOMS, MEMBERS))
    for pod, reads in ((pod_object("web"), 0), (member_object("train-0", "train", 2), 1)):
        answer_filter(body_of(cache_mode(["a", "b"], pod)), cache, open_gangs=opened)
        assert opened.reads == reads


@pytest.mark.parametrize(("size", "reason"), [(2, None), (3, "gang waits for members")])
def test_gang_members_are_found_in_the_cache_in_full_mode_too(size: int, reason: str | None) -> None:
    waiting = members("train", size, count=2, requests={"cpu": "1"})
    cache = FixedNodeCache(GANGS, Snapshot.of(ROOMS, waiting))
    asked = member_object("train-0", "train", size, requests={"cpu": "1"})
    nodes = [node_with(name, allocatable={"cpu": "2"}) for name in "ab"]
    found = orjson.loads(answer_filter(body_of(full_mode(nodes, asked)), cache).body)
    rejected = {name for name in found["FailedAndUnresolvableNodes"].values() if name == reason}
    assert rejected == (set() if reason is None else {reason})
    assert bool(found["Nodes"]["items"]) is (reason is None)


URGENT = pod_with("urgent", priority=1000)
ERROR = "SchedulerError"
LOWEST = [PriorityClass("pause", -10)]


@pytest.mark.parametrize(
    ("pod", "classes", "pods_version", "waits"),
    [
        pytest.param(URGENT, [], "7", True, id="first attempt"),
        pytest.param(
            pod_with(
                "gated", priority=9, status={"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}
            ),
            [],
            "7",
            True,
            id="first attempt after its gates were removed",
        ),
        pytest.param(tried(URGENT, "8", ERROR), [], "7", True, id="the cache does not have the failed attempt yet"),
        pytest.param(tried(URGENT, "7", ERROR), [], "7", False, id="the cache has it"),
        pytest.param(tried(URGENT, "8"), [], "7", False, id="only the text of its condition has changed"),
        pytest.param(URGENT, [], "", False, id="the cache is a dump and up to date"),
        pytest.param(pod_with("plain"), [], "7", False, id="no pod has a lower priority"),
        pytest.param(pod_with("plain"), LOWEST, "7", True, id="a class has a lower priority"),
        pytest.param(pod_with("never", priority=9, preemptionPolicy="Never"), [], "7", False, id="never preempts"),
        pytest.param(
            pod_with("nominated", priority=9, status={"nominatedNodeName": "joined"}),
            [],
            "7",
            False,
            id="the pod is nominated",
        ),
    ],
)
@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
def test_pod_that_may_evict_waits_until_the_cache_has_its_failed_attempt(
    answer: Callable[..., Reply], pod: dict[str, Any], classes: Sequence[PriorityClass], pods_version: str, waits: bool
) -> None:
    """The node may have its label by now, or its pods may have ended. Rejecting the node would evict pods elsewhere."""
    cache = FixedNodeCache(
        BerthConfiguration(), Snapshot.of([node("unlabeled")], priority_classes=classes), pods_version
    )
    reply = answer(body_of(cache_mode(["unlabeled"], pod)), cache)
    found = orjson.loads(reply.body)
    assert found["Error"] == (WAITING if waits else "")
    assert (reply.outcome is FilterOutcome.WAITING) is waits
    assert bool(found["FailedAndUnresolvableNodes"]) is not waits


def test_pod_that_may_evict_waits_at_every_attempt_for_a_joined_node() -> None:
    cache = FixedNodeCache(BerthConfiguration(), Snapshot.of([node("unlabeled")]), "7")
    found = orjson.loads(answer_filter(body_of(cache_mode(["unlabeled", "joined"], tried(URGENT, "7"))), cache).body)
    assert found["Error"] == WAITING


def test_pod_that_fits_a_node_does_not_wait() -> None:
    cache = FixedNodeCache(BerthConfiguration(), Snapshot.of([labelled("fits", "1")]), "7")
    found = orjson.loads(answer_filter(body_of(cache_mode(["fits", "joined"], URGENT)), cache).body)
    assert (found["NodeNames"], found["Error"]) == (["fits"], "")
