"""preempt waits for pods that the scheduler knows and the cache does not have yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.ports import REREAD_SECONDS, REREADS, CacheUnavailable
from berth.extender.preempt import answer_preempt
from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.builders.requests import body_of, victims_by_uid
from tests.fakes.node_cache import FixedNodeCache, LateNodeCache

FULL = BerthConfiguration.model_validate({"profile": "full"})
LATE = LateNodeCache.LATE
TEAM = {"team": "a"}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": TEAM}}
        ]
    }
}
NODE = node_with("n", labels={"kubernetes.io/hostname": "n"}, allocatable={"cpu": "4"})
VICTIM = pod_with("victim", nodeName="n", requests={"cpu": "2"})
MATE = pod_with("mate", TEAM, nodeName="n")
"""A pod that must be evicted because of a rule that only Berth evaluates, so the scheduler does not propose it."""

OLD = [NODE, VICTIM]
BOTH = [NODE, VICTIM, MATE]


def answer(
    first: Sequence[Mapping[str, Any]],
    later: Sequence[Mapping[str, Any]] | CacheUnavailable,
    versions: Sequence[str] = ("1", "7"),
    deadline: float = 0.0,
    document: BerthConfiguration = FULL,
) -> tuple[set[str], int]:
    """Return the victims and the number of pauses. versions: the versions of pods that each cache has reached."""
    caches = [
        FixedNodeCache(document, each, version)
        if isinstance(each, CacheUnavailable)
        else FixedNodeCache.of(document, *each, pods_version=version)
        for each, version in zip((first, later), versions, strict=True)
    ]
    cache = LateNodeCache(*caches)
    limit = Deadline(deadline, lambda: sum(cache.slept)) if deadline else NO_DEADLINE
    pod = pod_with("high", TEAM, priority=9, requests={"cpu": "3"}, affinity=APART, metadata={"resourceVersion": "5"})
    reply = answer_preempt(
        body_of(victims_by_uid({"n": ["uid-victim"]}, pod=pod)), cache, deadline=limit, sleep=cache.sleep
    )
    found = orjson.loads(reply.body).get("NodeNameToMetaVictims", {})
    assert set(cache.slept) <= {REREAD_SECONDS}
    return {victim["UID"] for each in found.values() for victim in each["Pods"]}, len(cache.slept)


@pytest.mark.parametrize(
    ("first", "versions"),
    [
        pytest.param([NODE], ("", ""), id="a cache without the proposed victim"),
        pytest.param(OLD, ("4", "5"), id="a cache of pods before the preemptor"),
    ],
)
def test_evicts_pods_cached_during_the_wait(first: Sequence[Mapping[str, Any]], versions: Sequence[str]) -> None:
    """With too few victims, the preemptor waits forever: the scheduler does not propose victims for Berth's rules."""
    assert answer(first, BOTH, versions) == ({"uid-victim", "uid-mate"}, LATE)


@pytest.mark.parametrize(
    ("first", "later", "versions", "wanted"),
    [
        pytest.param(BOTH, [], ("5", ""), ({"uid-victim", "uid-mate"}, 0), id="the cache has the preemptor's version"),
        pytest.param(BOTH, [], ("", ""), ({"uid-victim", "uid-mate"}, 0), id="a cache without versions"),
        pytest.param([NODE], [NODE], ("5", "5"), ({"uid-victim"}, REREADS), id="the victim is gone"),
        pytest.param(OLD, OLD, ("4", "4"), ({"uid-victim"}, REREADS), id="the cache stays behind"),
        pytest.param([], BOTH, ("5", "5"), ({"uid-victim"}, 0), id="a node that the cache lacks"),
        pytest.param(OLD, CacheUnavailable("stale"), ("4", ""), (set(), LATE), id="the cache becomes unavailable"),
    ],
)
def test_pauses_only_while_the_cache_may_be_behind(
    first: Sequence[Mapping[str, Any]], later: Any, versions: Sequence[str], wanted: tuple[set[str], int]
) -> None:
    assert answer(first, later, versions) == wanted


def test_does_not_wait_if_all_rules_are_about_nodes_alone() -> None:
    assert answer([NODE], BOTH, document=BerthConfiguration.model_validate({"profile": "resource-segregation"}))[1] == 0


def test_does_not_wait_for_victims_beyond_the_deadline() -> None:
    pauses = answer([NODE], [NODE], deadline=0.2)[1]
    assert pauses * REREAD_SECONDS < 0.2
