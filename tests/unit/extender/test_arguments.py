"""ExtenderArgs: which names are asked about, and on which state."""

from __future__ import annotations

import pytest

from berth.extender.arguments import RequestNodes, decode_object, folded, pod_named_in, pod_version_in, read_candidates
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.ports import CacheUnavailable, DecisionContext, NodeCache
from berth.scheduling.configuration.document import BerthConfiguration, WhenStale
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import AssumedPod
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import LICENCE, asking, asking_object, configuration, counted_node, counted_node_object
from tests.builders.nodes import labelled, labelled_object
from tests.builders.requests import body_of, cache_mode, full_mode


class Answering(NodeCache):
    """Answers with what it was given, and counts how often it was asked for the cluster."""

    def __init__(self, answer: Snapshot | CacheUnavailable, document: BerthConfiguration | None = None) -> None:
        self._answer = DecisionContext((document or BerthConfiguration()).policy(), answer)
        self.asked = 0

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        self.asked += 1
        return self._answer

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._answer.policy


def test_cache_mode_uses_nodes_from_the_cache() -> None:
    snapshots = Answering(Snapshot.of([labelled("n1", "1")]))
    found = read_candidates(body_of(cache_mode(["n1", "n2", "n1"])), snapshots)
    assert isinstance(found, RequestNodes)
    assert list(found.names) == ["n1", "n2"]
    assert found.items is None
    assert dict(found.snapshot.nodes) == {"n1": labelled("n1", "1")}
    assert snapshots.asked == 1


def test_last_object_with_a_name_is_used_and_returned() -> None:
    first, second = labelled_object("n1", "1"), labelled_object("n1", "2")
    found = read_candidates(body_of(full_mode([first, second])), Answering(CacheUnavailable("")))
    assert isinstance(found, RequestNodes)
    assert found.items == {"n1": second}
    assert found.snapshot.nodes["n1"].labels == labelled("n1", "2").labels


def test_prefers_names_if_the_request_has_names_and_objects() -> None:
    request = full_mode([labelled_object("n1", "1")]) | {"NodeNames": ["n2"]}
    found = read_candidates(body_of(request), Answering(Snapshot.of([])))
    assert isinstance(found, RequestNodes)
    assert list(found.names) == ["n2"]


def test_names_pod_in_failure_if_the_cache_is_unreadable() -> None:
    found = read_candidates(body_of(cache_mode(["n1"])), Answering(CacheUnavailable("cause; remedy")))
    assert found == Failure(FailureOutcome.CACHE_UNAVAILABLE, "cause; remedy", "ml/train-0")


def test_does_not_read_cache_for_a_rejected_request() -> None:
    snapshots = Answering(Snapshot.of([]))
    for request in ({}, cache_mode(["n1"]) | {"Pod": None}, cache_mode(["n1"]) | {"NodeNames": [1]}):
        assert isinstance(read_candidates(body_of(request), snapshots), Failure)
    assert snapshots.asked == 0


@pytest.mark.parametrize("request_body", [cache_mode([]), full_mode([])])
def test_empty_list_does_not_need_the_cache(request_body: dict[str, object]) -> None:
    snapshots = Answering(CacheUnavailable("not to be asked"))
    found = read_candidates(body_of(request_body), snapshots)
    assert isinstance(found, RequestNodes)
    assert list(found.names) == []
    assert snapshots.asked == 0


def test_full_mode_reads_pods_from_the_cache_if_the_pod_requests_a_counted_resource() -> None:
    """The request has nodes without their pods: what they hold would be free otherwise."""
    holding = asking("holds", "n1", licence="3")
    cached = Snapshot.of([counted_node("n1", "9"), counted_node("other", "9")], [holding])
    cached = cached.assuming([AssumedPod("ml", "a", "uid-a", "n1", {LICENCE: 1})])
    request = full_mode([counted_node_object("n1", "4"), counted_node_object("new", "4")], asking_object(licence="1"))
    found = read_candidates(body_of(request), Answering(cached, configuration()))
    assert isinstance(found, RequestNodes)
    # The nodes are the request's, with what it says of them; a node that the cache does not know has no pods.
    assert sorted(found.snapshot.nodes) == ["n1", "new"]
    rejected = found.policy.feasibility(found.pod, found.names, found.snapshot).rejected
    assert {name: status.message for name, status in rejected.items()} == {"n1": "Insufficient example.com/licence"}


def test_full_mode_does_not_need_the_cache_without_a_counted_request() -> None:
    cache = Answering(CacheUnavailable("not to be asked"), configuration())
    assert isinstance(
        read_candidates(body_of(full_mode([counted_node_object()], asking_object())), cache), RequestNodes
    )
    assert cache.asked == 0


@pytest.mark.parametrize(
    ("when_stale", "names"),
    [
        pytest.param(WhenStale.FAIL, None, id="fail: a node cannot be evaluated without its pods"),
        pytest.param(WhenStale.PASS, ["n1"], id="pass: bind still counts"),
    ],
)
def test_full_mode_without_cache_responds_as_configured(when_stale: WhenStale, names: list[str] | None) -> None:
    cache = Answering(CacheUnavailable("cause; remedy", when_stale), configuration())
    request = full_mode([counted_node_object("n1", "4")], asking_object("asks", licence="4"))
    found = read_candidates(body_of(request), cache)
    if names is None:
        assert found == Failure(FailureOutcome.CACHE_UNAVAILABLE, "cause; remedy", "ml/asks")
    else:
        assert isinstance(found, RequestNodes)
        assert found.policy.feasibility(found.pod, found.names, found.snapshot).feasible == names


@pytest.mark.parametrize("key", ["NodeNames", "nodenames", "NODENAMES", "nodeName\u017f"])
def test_matches_keys_like_go_encoding_json(key: str) -> None:
    assert list(folded({key: None})) == ["nodenames"]


def test_last_of_several_keys_that_differ_only_in_case_is_used() -> None:
    assert decode_object('{"pod": 1, "Pod": 2}') == {"pod": 2}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        pytest.param('{"Pod": {"metadata": {"namespace": "ml", "name": "p"}}}', "ml/p", id="a pod"),
        pytest.param('{"PodNamespace": "ml", "PodName": "p"}', "ml/p", id="a binding"),
        pytest.param("not JSON", "", id="no request"),
        pytest.param("", "", id="no body"),
    ],
)
def test_error_names_pod_of_failed_request(body: str, named: str) -> None:
    assert pod_named_in(body) == named


SENT = '{"Pod":{"metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"42","annotations":{%s}}}}'


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param(SENT % "", "42", id="text"),
        pytest.param((SENT % "").encode(), "42", id="bytes"),
        pytest.param(SENT % '"resourceVersion":"7"', "42", id="an annotation has the name of the field"),
        pytest.param(SENT % '"a":"é"', "42", id="letters of two bytes"),
        pytest.param('{"Pod":{"metadata":{"name":"p"}}}', "", id="none"),
        pytest.param("", "", id="empty"),
    ],
)
def test_finds_the_pods_version_without_decoding(body: str | bytes, version: str) -> None:
    assert pod_version_in(body) == version
