"""ExtenderArgs: the names of the requested nodes, and the state of the cluster that is used for them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import orjson
import pytest

from berth.extender.arguments import (
    RequestNodes,
    SchedulingRequest,
    decode_object,
    folded,
    pod_named_in,
    pod_version_in,
    read_candidates,
    read_scheduling_request,
)
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.ports import CacheUnavailable, DecisionContext, NodeCache
from berth.scheduling.configuration.document import BerthConfiguration, WhenStale
from berth.scheduling.objects import Pod, pod_texts, read_pod
from berth.scheduling.objects.pod_texts import FieldsOf
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import AssumedPod
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.bench.cluster import plain_pod
from tests.builders.counted import LICENCE, asking, asking_object, configuration, counted_node, counted_node_object
from tests.builders.hostile_pods import SPECS, hostile_pod
from tests.builders.nodes import labelled, labelled_object
from tests.builders.requests import body_of, cache_mode, full_mode
from tests.builders.unread_fields import UNREAD_FIELDS


class Answering(NodeCache):
    """Returns the given answer, and counts the reads of the cluster."""

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
    """The request has nodes without their pods: the amounts that the pods hold would count as free otherwise."""
    holding = asking("holds", "n1", licence="3")
    cached = Snapshot.of([counted_node("n1", "9"), counted_node("other", "9")], [holding])
    cached = cached.assuming([AssumedPod("ml", "a", "uid-a", "n1", {LICENCE: 1})])
    request = full_mode([counted_node_object("n1", "4"), counted_node_object("new", "4")], asking_object(licence="1"))
    found = read_candidates(body_of(request), Answering(cached, configuration()))
    assert isinstance(found, RequestNodes)
    # The nodes and their fields come from the request; a node that the cache does not know has no pods.
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


# A request with a large pod is decoded in parts, with the same result as if it were decoded as a whole.

NAMES = ["a", "b"]
COUNT = 2_000
Manifest = dict[str, Any]


def json_of(pod: object, **others: object) -> str:
    return orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": NAMES} | others).decode()


def read(body: str | bytes) -> SchedulingRequest:
    found = read_scheduling_request(body, "unreadable")
    assert isinstance(found, SchedulingRequest)
    return found


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the lengths of the texts that are decoded."""
    lengths: list[int] = []

    def loads(text: str) -> object:
        lengths.append(len(text))
        return orjson.loads(text)

    class Counting:
        JSONDecodeError = orjson.JSONDecodeError
        OPT_SORT_KEYS = orjson.OPT_SORT_KEYS
        dumps = staticmethod(orjson.dumps)

    Counting.loads = staticmethod(loads)  # type: ignore[attr-defined]
    for module in ("berth.extender.arguments", "berth.scheduling.objects.pod_texts"):
        monkeypatch.setattr(f"{module}.orjson", Counting)
    decode = FieldsOf.decode

    def counting_decode(fields: FieldsOf, text: str) -> dict[str, object]:
        lengths.append(len(text))
        return decode(fields, text)

    monkeypatch.setattr(FieldsOf, "decode", counting_decode)
    return lengths


@pytest.mark.parametrize("as_bytes", [False, True], ids=["text", "bytes"])
@pytest.mark.parametrize("name", SPECS)
def test_partial_decoding_reads_the_same_pod_as_full_decoding(name: str, as_bytes: bool) -> None:
    manifest = hostile_pod(name, plain_pod(), COUNT)
    body = json_of(manifest)
    found, whole = read(body.encode() if as_bytes else body), read_pod(manifest)
    assert found.pod == whole
    assert found.fields.keys() - {"pod"} == {"nodes", "nodenames"}
    assert found.fields["nodenames"] == NAMES


@pytest.mark.parametrize("name", SPECS)
def test_does_not_decode_a_known_text_again(name: str, decoded: list[int]) -> None:
    manifest = hostile_pod(name, plain_pod(), COUNT)
    first = read(json_of(manifest))
    decoded.clear()
    manifest["metadata"] |= {"name": "another", "uid": "another"}
    again = read(json_of(manifest))
    assert (again.pod.spec, again.pod.label_set) == (first.pod.spec, first.pod.label_set)
    assert again.pod.name == "another"
    assert sum(decoded) < pod_texts.SMALL


def large(**spec: object) -> Manifest:
    manifest = hostile_pod("tolerations: of many keys", plain_pod(), COUNT)
    manifest["spec"] |= spec
    return manifest


def cases() -> dict[str, tuple[str, object]]:
    """Return bodies that kube-scheduler does not send, each with the pod that it contains."""
    pod = large()
    metadata, spec, status = (orjson.dumps(pod[part]).decode() for part in ("metadata", "spec", "status"))
    others = '"Nodes":null,"NodeNames":["a","b"]}'
    small = orjson.dumps(plain_pod()).decode()
    whole = f'{{"Pod":{{"metadata":{metadata},"spec":{spec},"status":{status}}},'
    hidden = f'{{"metadata":{{}},"spec":{{}},"status":{{}}}},{others}'.replace('"', '\\"')
    annotated = pod | {"metadata": pod["metadata"] | {"annotations": {"text": hidden.replace('\\"', '"')}}}
    nested = pod | {"metadata": pod["metadata"] | {"x": {"a": {}, "spec": {}, "status": {}}}}
    two_labels = metadata[:-1] + ',"labels":{"app":"other"}}'
    long_labels = orjson.dumps(hostile_pod("labels", plain_pod(), COUNT)["metadata"]).decode()
    twice = long_labels[:-1] + ',"labels":{"app":"other"}}'
    deeper = f'{{"x":{{"y":1,"labels":{{"app":"{"a" * pod_texts.SMALL}"}}}},"name":"n"}}'
    return {
        "a second pod": (f'{whole}"pod":{small},{others}', plain_pod()),
        "a second pod after the names": (whole + others[:-1] + f',"Pod":{small}}}', plain_pod()),
        "the request's form in an annotation": (json_of(annotated), annotated),
        "another spec inside the metadata": (json_of(nested), nested),
        "labels twice": (
            f'{{"Pod":{{"metadata":{two_labels},"spec":{spec},"status":{status}}},{others}',
            pod | {"metadata": pod["metadata"] | {"labels": {"app": "other"}}},
        ),
        "long labels twice": (
            f'{{"Pod":{{"metadata":{twice},"spec":{spec},"status":{status}}},{others}',
            pod | {"metadata": pod["metadata"] | {"labels": {"app": "other"}}},
        ),
        "labels of something in the metadata": (
            f'{{"Pod":{{"metadata":{deeper},"spec":{spec},"status":{status}}},{others}',
            pod | {"metadata": {"name": "n"}},
        ),
        "spec twice": (f'{{"Pod":{{"metadata":{metadata},"spec":{{}},"spec":{spec},"status":{status}}},{others}', pod),
        "spaces": (json_of(pod).replace('"status":', '"status": '), pod),
        "status first": (json_of({"metadata": pod["metadata"], "status": pod["status"], "spec": pod["spec"]}), pod),
        "a node": (json_of(large(nodeName="n")), large(nodeName="n")),
        "a resize": (json_of(resized := resizing()), resized),
    }


def resizing() -> Manifest:
    manifest = large()
    [container] = manifest["spec"]["containers"]
    manifest["status"]["containerStatuses"] = [{"name": container["name"], "resources": {"requests": {"cpu": "7"}}}]
    return manifest


@pytest.mark.parametrize("name", cases())
def test_reads_unusual_requests_like_full_decoding(name: str) -> None:
    body, manifest = cases()[name]
    ordinary = read(json_of(large())).pod  # keeps its spec in the cache while the pod is in use
    assert ordinary == read_pod(large())
    for _ in range(2):
        assert read(body).pod == read_pod(manifest)


BROKEN = {
    "spec": ('"spec":{', '"spec":{,'),
    "metadata": ('"metadata":{', '"metadata":{,'),
    "status": ('"status":{', '"status":{,'),
    "names": ('"NodeNames":[', '"NodeNames":[,'),
    "end": ('"b"]}', '"b"]'),
    "rest": ('"b"]}', '"b"]}}'),
}


@pytest.mark.parametrize("place", BROKEN)
def test_rejects_a_body_of_invalid_json(place: str) -> None:
    body = json_of(large())
    read(body)
    found = read_scheduling_request(body.replace(*BROKEN[place]), "unreadable")
    assert isinstance(found, Failure)
    assert found.reason == "the request body is not JSON"


@pytest.mark.parametrize("part", ["spec", "metadata", "status"])
def test_error_names_the_unreadable_field(part: str) -> None:
    fields = {"spec": {"tolerations": 1}, "metadata": {"labels": 1}, "status": {}}
    manifest = large()
    manifest[part] |= fields[part]
    found = read_scheduling_request(json_of(manifest), "unreadable")
    assert isinstance(found, Failure) is bool(fields[part])
    if isinstance(found, Failure):
        assert next(iter(fields[part])) in found.reason


def test_pods_of_another_namespace_or_owner_do_not_share_a_spec_of_identical_text() -> None:
    found = []
    changes: list[Manifest] = [{}, {"namespace": "other"}, {"ownerReferences": []}]
    for change in changes:
        manifest = large()
        manifest["metadata"] |= change
        pod = read(json_of(manifest)).pod
        assert pod == read_pod(manifest)
        found.append(pod)
    assert len({id(pod.spec) for pod in found}) == 3


LARGE_METADATA: dict[str, Manifest] = {
    "managed fields": {"managedFields": [{"fieldsV1": {f"f:{index}": {} for index in range(5 * COUNT)}}]},
    "annotations": {"annotations": {f"key-{index}": "value" for index in range(5 * COUNT)}},
    "owners": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Owner", "name": f"{index}", "controller": index == 7}
            for index in range(COUNT)
        ]
    },
}


@pytest.mark.parametrize("name", LARGE_METADATA)
def test_large_metadata_is_decoded_only_once(name: str, decoded: list[int]) -> None:
    manifest = plain_pod()
    manifest["metadata"] |= {"annotations": {"a": "b"}} | LARGE_METADATA[name]
    for number in range(2):
        decoded.clear()
        pod = read(json_of(manifest)).pod
        assert isinstance(pod, Pod)
        assert pod == read_pod(manifest)
        assert (sum(decoded) < pod_texts.SMALL) is (number == 1)


@pytest.mark.parametrize("kind", UNREAD_FIELDS)
def test_does_not_build_objects_for_fields_unused_by_scheduling(kind: str) -> None:
    first, second = (UNREAD_FIELDS[kind](number, 100_000) for number in range(2))
    known = read(json_of(first)).pod
    body = json_of(second)
    tracemalloc.start()
    try:
        pod = read(body).pod
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pod == read_pod(second)
    assert pod.spec is known.spec
    # The peak consists of the texts of the parts, and the bytes of one part for its hash.
    assert peak < 3 * len(body)


def test_size_of_cached_metadata_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_texts, "MAX_METADATA_BYTES", 1_000_000)
    recent = pod_texts._RecentMetadata()
    for number in range(10):
        text = orjson.dumps({"annotations": {f"key-{number}-{index}": "" for index in range(COUNT)}}).decode()
        recent.read(text)
        assert recent._size <= 1_000_000
    assert len(recent._found) == 1
