"""A request with a large pod is read by its texts, and is the same request as when it is decoded as a whole."""

from __future__ import annotations

import tracemalloc
from typing import Any

import orjson
import pytest

from berth.extender.arguments import SchedulingRequest, read_scheduling_request
from berth.extender.outcomes import Failure
from berth.scheduling.objects import Pod, pod_texts, read_pod
from berth.scheduling.objects.pod_texts import FieldsOf
from tests.bench.cluster import plain_pod
from tests.builders.hostile_pods import SPECS, hostile_pod
from tests.builders.unread_fields import UNREAD_FIELDS

NAMES = ["a", "b"]
COUNT = 2_000

Manifest = dict[str, Any]


def body_of(pod: object, **others: object) -> str:
    return orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": NAMES} | others).decode()


def read(body: str | bytes) -> SchedulingRequest:
    found = read_scheduling_request(body, "unreadable")
    assert isinstance(found, SchedulingRequest)
    return found


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the texts that are decoded."""
    lengths: list[int] = []

    def loads(text: str) -> object:
        lengths.append(len(text))
        return orjson.loads(text)

    class Counting:
        JSONDecodeError = orjson.JSONDecodeError
        OPT_SORT_KEYS = orjson.OPT_SORT_KEYS
        dumps = staticmethod(orjson.dumps)

    Counting.loads = staticmethod(loads)  # type: ignore[attr-defined]
    for module in ("berth.extender.arguments", "berth.extender.arguments", "berth.scheduling.objects.pod_texts"):
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
    body = body_of(manifest)
    found, whole = read(body.encode() if as_bytes else body), read_pod(manifest)
    assert found.pod == whole
    assert found.fields.keys() - {"pod"} == {"nodes", "nodenames"}
    assert found.fields["nodenames"] == NAMES


@pytest.mark.parametrize("name", SPECS)
def test_does_not_decode_a_known_text_again(name: str, decoded: list[int]) -> None:
    manifest = hostile_pod(name, plain_pod(), COUNT)
    first = read(body_of(manifest))
    decoded.clear()
    manifest["metadata"] |= {"name": "another", "uid": "another"}
    again = read(body_of(manifest))
    assert (again.pod.spec, again.pod.label_set) == (first.pod.spec, first.pod.label_set)
    assert again.pod.name == "another"
    assert sum(decoded) < pod_texts.SMALL


def large(**spec: object) -> Manifest:
    manifest = hostile_pod("tolerations: of many keys", plain_pod(), COUNT)
    manifest["spec"] |= spec
    return manifest


def cases() -> dict[str, tuple[str, object]]:
    """Bodies that no kube-scheduler sends, with the pod that they mean."""
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
        "the request's form in an annotation": (body_of(annotated), annotated),
        "another spec inside the metadata": (body_of(nested), nested),
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
        "spaces": (body_of(pod).replace('"status":', '"status": '), pod),
        "status first": (body_of({"metadata": pod["metadata"], "status": pod["status"], "spec": pod["spec"]}), pod),
        "a node": (body_of(large(nodeName="n")), large(nodeName="n")),
        "a resize": (body_of(resized := resizing()), resized),
    }


def resizing() -> Manifest:
    manifest = large()
    [container] = manifest["spec"]["containers"]
    manifest["status"]["containerStatuses"] = [{"name": container["name"], "resources": {"requests": {"cpu": "7"}}}]
    return manifest


@pytest.mark.parametrize("name", cases())
def test_reads_unusual_requests_like_full_decoding(name: str) -> None:
    body, manifest = cases()[name]
    ordinary = read(body_of(large())).pod  # its spec is known as long as somebody uses it
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
    body = body_of(large())
    read(body)
    found = read_scheduling_request(body.replace(*BROKEN[place]), "unreadable")
    assert isinstance(found, Failure)
    assert found.reason == "the request body is not JSON"


@pytest.mark.parametrize("part", ["spec", "metadata", "status"])
def test_error_names_the_unreadable_field(part: str) -> None:
    fields = {"spec": {"tolerations": 1}, "metadata": {"labels": 1}, "status": {}}
    manifest = large()
    manifest[part] |= fields[part]
    found = read_scheduling_request(body_of(manifest), "unreadable")
    assert isinstance(found, Failure) is bool(fields[part])
    if isinstance(found, Failure):
        assert next(iter(fields[part])) in found.reason


def test_pods_with_identical_text_share_a_spec_only_in_the_same_namespace_and_owner() -> None:
    found = []
    changes: list[Manifest] = [{}, {"namespace": "other"}, {"ownerReferences": []}]
    for change in changes:
        manifest = large()
        manifest["metadata"] |= change
        pod = read(body_of(manifest)).pod
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
        pod = read(body_of(manifest)).pod
        assert isinstance(pod, Pod)
        assert pod == read_pod(manifest)
        assert (sum(decoded) < pod_texts.SMALL) is (number == 1)


@pytest.mark.parametrize("kind", UNREAD_FIELDS)
def test_does_not_build_objects_for_fields_unused_by_scheduling(kind: str) -> None:
    first, second = (UNREAD_FIELDS[kind](number, 100_000) for number in range(2))
    known = read(body_of(first)).pod
    body = body_of(second)
    tracemalloc.start()
    try:
        pod = read(body).pod
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pod == read_pod(second)
    assert pod.spec is known.spec
    # Texts of the parts, and the bytes of one of them to hash.
    assert peak < 3 * len(body)


def test_size_of_cached_metadata_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_texts, "MAX_METADATA_BYTES", 1_000_000)
    recent = pod_texts._RecentMetadata()
    for number in range(10):
        text = orjson.dumps({"annotations": {f"key-{number}-{index}": "" for index in range(COUNT)}}).decode()
        recent.read(text)
        assert recent._size <= 1_000_000
    assert len(recent._found) == 1
