"""Properties of decisions for every cluster and every request that lists nodes."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from berth.extender.outcomes import WAITING
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import PRIORITY, labelled_object, node_object
from tests.builders.pods import pod, pod_object
from tests.builders.requests import cache_mode, full_mode
from tests.fakes.verbs import Verbs

pytestmark = pytest.mark.long

NAMES = [f"n{index}" for index in range(8)]
INTEGER = re.compile(r"-?[0-9]{1,15}")

label_values = st.integers(-100, 100).map(str) | st.sampled_from(["", "x", "1.5", "007", "+1", "1" * 16, "-0"])
labels = st.none() | label_values
clusters = st.dictionaries(st.sampled_from(NAMES), labels, max_size=8)
requested = st.lists(st.sampled_from([*NAMES, "joined-a-moment-ago"]), min_size=1, max_size=12)
pods = st.builds(
    pod_object,
    namespace=st.sampled_from(["ml", "kube-system"]),
    priority=st.none() | st.integers(-(2**31), 2_000_001_000),
    controller_kind=st.sampled_from(["", "Job", "DaemonSet"]),
)


def nodes_of(cluster: dict[str, str | None]) -> list[NodeInfo]:
    return [NodeInfo(name, {} if value is None else {PRIORITY: value}) for name, value in cluster.items()]


def score_of(value: str | None) -> int | None:
    """The rule itself: what the label is worth, or None where it does not count."""
    return int(value) if value is not None and INTEGER.fullmatch(value) else None


@given(clusters, requested, pods)
def test_passed_and_failed_names_come_from_the_request(
    cluster: dict[str, str | None], names: list[str], requesting: dict[str, object]
) -> None:
    answer = Verbs(nodes_of(cluster)).ask("filter", cache_mode(names, requesting)).json
    passed, failed = answer["NodeNames"], answer["FailedAndUnresolvableNodes"]
    # A pod that may evict others gets no verdict yet if the cache may be behind.
    assert answer["Error"] in ("", WAITING)
    assert set(passed) | set(failed) == (set() if answer["Error"] else set(names))
    assert not set(passed) & set(failed)
    assert len(passed) == len(set(passed))
    assert all(failed.values())
    assert answer["FailedNodes"] == {}


@given(clusters, requested)
def test_filter_passes_exactly_nodes_with_integer_label(cluster: dict[str, str | None], names: list[str]) -> None:
    answer = Verbs(nodes_of(cluster)).ask("filter", cache_mode(names)).json
    assert set(answer["NodeNames"]) == {name for name in names if score_of(cluster.get(name)) is not None}


@given(clusters, requested)
def test_filter_onlyone_returns_highest_scored_node_that_is_first_by_name(
    cluster: dict[str, str | None], names: list[str]
) -> None:
    answer = Verbs(nodes_of(cluster)).ask("filter_onlyone", cache_mode(names)).json
    scores = {name: score for name in names if (score := score_of(cluster.get(name))) is not None}
    best = [name for name, score in scores.items() if score == max(scores.values())]
    assert answer["NodeNames"] == sorted(best)[:1]


@given(clusters, requested)
def test_filter_onlyone_chooses_a_node_that_prioritize_scores_highest(
    cluster: dict[str, str | None], names: list[str]
) -> None:
    verbs = Verbs(nodes_of(cluster))
    feasible = verbs.ask("filter", cache_mode(names)).json["NodeNames"]
    chosen = verbs.ask("filter_onlyone", cache_mode(names)).json["NodeNames"]
    if feasible:
        scores = {entry["Host"]: entry["Score"] for entry in verbs.ask("prioritize", cache_mode(feasible)).json}
        assert scores[chosen[0]] == max(scores.values())
    else:
        assert chosen == []


@given(clusters, requested, pods)
def test_prioritize_returns_every_host_once_in_order(
    cluster: dict[str, str | None], names: list[str], requesting: dict[str, object]
) -> None:
    answer = Verbs(nodes_of(cluster)).ask("prioritize", cache_mode(names, requesting)).json
    assert [entry["Host"] for entry in answer] == list(dict.fromkeys(names))
    assert all(type(entry["Score"]) is int for entry in answer)


@given(clusters.filter(bool), pods)
def test_cache_mode_and_full_mode_give_the_same_decisions(
    cluster: dict[str, str | None], requesting: dict[str, object]
) -> None:
    objects = [node_object(name) if value is None else labelled_object(name, value) for name, value in cluster.items()]
    by_name = Verbs(nodes_of(cluster)).ask("filter", cache_mode(list(cluster), requesting)).json
    assume(by_name["Error"] != WAITING)  # a request with nodes is never behind
    in_full = Verbs(nodes=None).ask("filter", full_mode(objects, requesting)).json
    assert [item["metadata"]["name"] for item in in_full["Nodes"]["items"]] == by_name["NodeNames"]
    assert in_full["FailedAndUnresolvableNodes"] == by_name["FailedAndUnresolvableNodes"]
    assert all(item in objects for item in in_full["Nodes"]["items"])


@given(st.lists(clusters, min_size=2, max_size=4), st.lists(requested, min_size=1, max_size=4))
def test_warm_policy_decides_like_a_cold_policy(
    moments: list[dict[str, str | None]], requests: list[list[str]]
) -> None:
    from berth.scheduling.configuration.document import BerthConfiguration

    warm, snapshot = BerthConfiguration().policy(), Snapshot.of(())
    asking: Pod = pod()
    for moment in moments:
        snapshot = snapshot.with_changes(
            Changes(nodes=nodes_of(moment), nodes_gone=snapshot.nodes.keys() - moment.keys())
        )
        for names in requests:
            cold = BerthConfiguration().policy()
            fresh = Snapshot.of(nodes_of(moment))
            assert warm.feasibility(asking, names, snapshot) == cold.feasibility(asking, names, fresh)
            assert warm.best(asking, names, snapshot) == cold.best(asking, names, fresh)
            assert warm.scores(asking, names, snapshot) == cold.scores(asking, names, fresh)
