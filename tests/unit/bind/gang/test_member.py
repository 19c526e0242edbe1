"""Liveness of gang members, from the API server and the node cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from berth.bind.gang.member import MAX_GETS, MemberLiveness, liveness_of, lost_of
from berth.pods import FoundPod, Refused, Unanswered
from berth.scheduling.objects import Pod
from tests.builders.gang_items import intent
from tests.builders.gangs import member
from tests.fakes.pods import PodsInMemory

COMMITTED = WAITING = [intent(f"train-{number}") for number in range(3)]


@dataclass
class ApiServer:
    """Records the names of the requested pods."""

    pods: PodsInMemory = field(default_factory=PodsInMemory)
    asked: list[str] = field(default_factory=list)

    def get(self, name: str) -> FoundPod | Refused | Unanswered:
        self.asked.append(name)
        return self.pods.pod("ml", name, 1.0)

    def of(self, *names: str, uid: str = "", **changes: Any) -> ApiServer:
        """Add pods with these names. uid: their UID; by default the UID of the member with the same name."""
        for name in names:
            self.pods.add(name, uid or f"uid-{name}", {})
            self.pods.change(name, **changes)
        return self


def cached(*names: str, **fields: object) -> Mapping[str, Pod]:
    found = [replace(member(name, "train", uid=f"uid-{name}"), **fields) for name in names]  # type: ignore[arg-type]
    return {pod.uid: pod for pod in found}


@pytest.mark.parametrize(
    ("server", "liveness"),
    [
        pytest.param(ApiServer().of("train-1"), MemberLiveness.LIVES, id="one is alive"),
        pytest.param(ApiServer(), MemberLiveness.NONE_LIVES, id="all were deleted"),
        pytest.param(
            ApiServer().of("train-1", uid="other"), MemberLiveness.NONE_LIVES, id="another pod has the same name"
        ),
        pytest.param(ApiServer().of("train-1", deleting=True), MemberLiveness.NONE_LIVES, id="one is being deleted"),
        pytest.param(ApiServer().of("train-1", phase="Succeeded"), MemberLiveness.NONE_LIVES, id="one has ended"),
        pytest.param(ApiServer().of("train-1", phase="Running"), MemberLiveness.LIVES, id="one runs"),
    ],
)
def test_commit_counts_as_alive_while_a_member_exists(server: ApiServer, liveness: MemberLiveness) -> None:
    assert liveness_of("uid-new", COMMITTED, {}, server.get) is liveness


def test_does_not_call_the_api_server_for_a_committed_member() -> None:
    server = ApiServer()
    assert liveness_of("uid-train-0", COMMITTED, {}, server.get) is MemberLiveness.LIVES
    assert server.asked == []


@pytest.mark.parametrize("answer", [Unanswered("no answer"), Refused(403, "forbidden")])
def test_existence_of_members_is_unknown_if_the_api_server_does_not_respond(answer: Refused | Unanswered) -> None:
    assert liveness_of("uid-new", COMMITTED, {}, lambda name: answer) is MemberLiveness.UNKNOWN


@pytest.mark.parametrize(
    ("pods", "asked"),
    [
        pytest.param(cached("other", node_name="n1"), ["other"], id="a member on a node first"),
        pytest.param(cached("train-2"), ["train-2", "train-0"], id="then an existing member of the commit"),
        pytest.param(cached("train-0", "train-1", "train-2", terminating=True), [], id="no terminating member"),
        pytest.param(cached("waits"), ["train-0"], id="no waiting member"),
    ],
)
def test_reads_first_the_member_that_most_likely_exists(pods: Mapping[str, Pod], asked: list[str]) -> None:
    server = ApiServer().of("other", "train-0")
    liveness_of("uid-new", COMMITTED, pods, server.get)
    assert server.asked == asked


def test_member_on_a_node_proves_a_commit_whose_item_is_lost() -> None:
    assert (
        liveness_of("uid-new", (), cached("other", node_name="n1"), ApiServer().of("other").get) is MemberLiveness.LIVES
    )


@pytest.mark.parametrize(
    ("gone", "gets", "liveness"),
    [
        pytest.param(MAX_GETS, MAX_GETS, MemberLiveness.NONE_LIVES, id="as many as may be read"),
        pytest.param(MAX_GETS + 1, MAX_GETS, MemberLiveness.UNKNOWN, id="one more than may be read"),
        pytest.param(1000, MAX_GETS, MemberLiveness.UNKNOWN, id="a large gang"),
    ],
)
def test_number_of_requests_for_members_is_bounded(gone: int, gets: int, liveness: MemberLiveness) -> None:
    server = ApiServer()
    assert liveness_of("uid-new", [intent(f"train-{number}") for number in range(gone)], {}, server.get) is liveness
    assert len(server.asked) == gets


ALL = ("train-0", "train-1", "train-2")


@pytest.mark.parametrize(
    ("pods", "server", "lost", "asked"),
    [
        pytest.param(cached(*ALL), ApiServer(), 0, [], id="the cache has all"),
        pytest.param(
            {**cached(*ALL[:2]), **cached("train-2", terminating=True)}, ApiServer(), 1, [], id="one is being deleted"
        ),
        pytest.param(cached(*ALL[:2]), ApiServer().of("train-2"), 0, ["train-2"], id="one is newer than the cache"),
        pytest.param(cached(*ALL[:2]), ApiServer(), 1, ["train-2"], id="one was deleted"),
        pytest.param(
            cached(*ALL[:2], "train-2-again"),
            ApiServer().of("train-2", uid="again"),
            1,
            ["train-2"],
            id="another pod has the name of a member",
        ),
        pytest.param({}, ApiServer(), 3, [*ALL], id="all were deleted"),
    ],
)
def test_deleted_members_that_waited_in_bind_count_as_lost(
    pods: Mapping[str, Pod], server: ApiServer, lost: int, asked: list[str]
) -> None:
    server = replace(server, asked=[])
    assert (lost_of(WAITING, pods, server.get), server.asked) == (lost, asked)


@pytest.mark.parametrize("answer", [Unanswered("no answer"), Refused(403, "forbidden")])
def test_member_is_not_lost_if_the_api_server_does_not_respond(answer: Refused | Unanswered) -> None:
    asked: list[str] = []

    def get(name: str) -> Refused | Unanswered:
        asked.append(name)
        return answer

    assert (lost_of(WAITING, {}, get), asked) == (0, ["train-0"])


@pytest.mark.parametrize(
    ("waiting", "lost"),
    [pytest.param(MAX_GETS, MAX_GETS, id="as many as allowed"), pytest.param(MAX_GETS + 1, 0, id="more than allowed")],
)
def test_does_not_call_the_api_server_if_the_cache_lacks_too_many_members(waiting: int, lost: int) -> None:
    server = ApiServer()
    assert lost_of([intent(f"train-{number}") for number in range(waiting)], {}, server.get) == lost
    assert len(server.asked) == lost
