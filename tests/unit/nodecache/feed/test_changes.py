"""Packing and unpacking changes: no change is lost, sizes are limited, and a bad object affects only itself."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from hashlib import sha256

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.nodecache.feed.changes import (
    LEFT_OUT,
    MAX_ITEM_BYTES,
    MAX_RAW_BYTES,
    Change,
    CorruptItem,
    OmissionReason,
    pack,
    part_of,
    unpack,
)
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import compact_pod
from berth.scheduling.snapshot.parts import SnapshotPart

FINE = Change("nodes", "fine", {"metadata": {"name": "fine"}})
ALSO_FINE = Change("pods", "ns/also-fine", {"metadata": {"name": "also-fine", "namespace": "ns"}})


def noise(size: int) -> str:
    return random.Random(size).randbytes(size).hex()


def deep(depth: int) -> dict[str, object]:
    nested: dict[str, object] = {}
    for _ in range(depth):
        nested = {"within": nested}
    return nested


@given(
    st.lists(
        st.builds(
            Change,
            st.sampled_from(["nodes", "pods"]),
            st.text(st.characters(codec="utf-8"), min_size=1),
            st.none() | st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(-(2**53), 2**53)),
        )
    )
)
def test_decodes_changes_of_each_part_in_order(given_changes: list[Change]) -> None:
    packed = pack(given_changes)
    for part in SnapshotPart:
        expected = [change for change in given_changes if part_of(change.resource) is part]
        assert list(unpack(packed.by_part.get(part, ()))) == expected
    assert not packed.omissions


def test_each_item_holds_one_part_and_nodes_come_first() -> None:
    budget = Change("poddisruptionbudgets", "ns/budget", {"metadata": {"name": "budget", "namespace": "ns"}})
    packed = pack([ALSO_FINE, budget, FINE, ALSO_FINE])
    assert {part: list(unpack(items)) for part, items in packed.by_part.items()} == {
        SnapshotPart.NODES: [FINE],
        SnapshotPart.OTHERS: [budget],
        SnapshotPart.PODS: [ALSO_FINE, ALSO_FINE],
    }
    assert list(unpack(packed.items)) == [FINE, budget, ALSO_FINE, ALSO_FINE]


def test_every_item_is_within_the_maximum_stored_size() -> None:
    many = [Change("pods", f"ns/pod-{number}", {"spec": noise(20_000 + number)}) for number in range(60)]
    packed = pack(many)
    assert len(packed.items) > 1
    assert max(map(len, packed.items)) <= MAX_ITEM_BYTES
    assert list(unpack(packed.items)) == many


def test_packing_zero_changes_yields_zero_items() -> None:
    assert pack([]).items == []


@pytest.mark.parametrize(
    ("bad", "cause"),
    [
        pytest.param({"spec": noise(MAX_ITEM_BYTES)}, OmissionReason.TOO_LARGE, id="compressed, but above an item"),
        pytest.param({"spec": " " * MAX_RAW_BYTES}, OmissionReason.TOO_LARGE, id="too large for readers"),
        pytest.param({"spec": "\ud800"}, OmissionReason.NOT_JSON, id="a lone surrogate"),
        pytest.param({"spec": 2**64}, OmissionReason.NOT_JSON, id="an integer of more than 64 bits"),
        pytest.param({"spec": -(2**63) - 1}, OmissionReason.NOT_JSON, id="a negative integer of more than 64 bits"),
        pytest.param({"spec": {1: "one"}}, OmissionReason.NOT_JSON, id="a key that is not a string"),
        pytest.param({"spec": b"bytes"}, OmissionReason.NOT_JSON, id="bytes"),
        pytest.param(deep(300), OmissionReason.NOT_JSON, id="nested too deeply to encode"),
    ],
)
def test_publishes_object_that_cannot_be_packed_as_deleted(bad: dict[str, object], cause: OmissionReason) -> None:
    packed = pack([FINE, Change("nodes", "bad", bad), ALSO_FINE])
    assert list(unpack(packed.items)) == [FINE, Change("nodes", "bad", None), ALSO_FINE]
    assert packed.omissions == {("nodes", "bad"): cause}


@pytest.mark.parametrize(
    "key", ["\ud800", noise(MAX_ITEM_BYTES), "x" * MAX_RAW_BYTES], ids=["not UTF-8", "long", "longer"]
)
def test_skips_objects_with_an_unwritable_key(key: str) -> None:
    packed = pack([FINE, Change("nodes", key, {"metadata": {}}), ALSO_FINE])
    assert list(unpack(packed.items)) == [FINE, ALSO_FINE]
    assert list(packed.omissions) == [("nodes", key)]


def packed_json(value: object) -> bytes:
    return zlib.compress(orjson.dumps(value))


def bomb(megabytes: int) -> bytes:
    """Return compressed spaces. After a full flush, each megabyte compresses to the same bytes: these are repeated."""
    packer, block = zlib.compressobj(9), b" " * 1_000_000
    first, following = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    checksum = 1
    for _ in range(megabytes):
        checksum = zlib.adler32(block, checksum)
    end = packer.flush()[:-4] + checksum.to_bytes(4, "big")
    return first + following * (megabytes - 1) + end


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not compressed", id="not compressed"),
        pytest.param(pack([FINE]).items[0][:-4], id="truncated"),
        pytest.param(pack([FINE]).items[0] + b"more", id="followed by something else"),
        pytest.param(zlib.compress(b"[["), id="not JSON"),
        pytest.param(packed_json({}), id="an object"),
        pytest.param(packed_json("abc"), id="a string"),
        pytest.param(packed_json(["abc"]), id="a string of three characters"),
        pytest.param(packed_json([["nodes", "n1"]]), id="a row that is too short"),
        pytest.param(packed_json([["nodes", "n1", {}, 1]]), id="a row that is too long"),
        pytest.param(packed_json([[1, "n1", {}]]), id="a resource that is not a string"),
        pytest.param(packed_json([["nodes", None, {}]]), id="a key that is not a string"),
        pytest.param(packed_json([["nodes", "n1", []]]), id="an object that is a list"),
        pytest.param(packed_json([list(FINE), None]), id="one bad row among good ones"),
        pytest.param(zlib.compress(b"[" * 100_000), id="unlimited nesting"),
    ],
)
def test_rejects_a_malformed_item_of_the_log(item: bytes) -> None:
    with pytest.raises(CorruptItem):
        list(unpack([item]))


def test_reads_compression_bomb_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    real = zlib.decompressobj

    class Measured:
        def __init__(self) -> None:
            self._stream = real()

        def decompress(self, item: bytes, most: int) -> bytes:
            raw = self._stream.decompress(item, most)
            taken.append(len(raw))
            return raw

        def __getattr__(self, name: str) -> object:
            return getattr(self._stream, name)

    monkeypatch.setattr(zlib, "decompressobj", Measured)
    with pytest.raises(CorruptItem):
        list(unpack([bomb(100)]))
    assert sum(taken) <= MAX_RAW_BYTES + 1


MEMORY = "example.com/gpumem"
DEVICE = "berth.dev/example.com.gpumem"
COUNTING = Counting([ManagedResource.model_validate({"name": MEMORY, "devices": {"sizes": {"nodeLabel": "sizes"}}})])
KEY = ("pods", "ml/train")


def drawn(seed: int) -> str:
    """Return 62 characters that hardly compress."""
    return sha256(str(seed).encode()).hexdigest()[:62]


LABELS = {drawn(number): drawn(-number) for number in range(1, 9_000)}
TERMS = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": drawn(number)}}} for number in range(14_000)]
AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}
CONTAINERS = [{"name": drawn(number), "resources": {"requests": {"cpu": "1m"}}} for number in range(14_000)]


def large_pod(
    labels: dict[str, str] | None = None,
    affinity: dict[str, object] | None = None,
    containers: list[dict[str, object]] | None = None,
) -> dict[str, object]:
    container = {"name": "app", "resources": {"requests": {MEMORY: "6000"}}}
    whole = {
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "uid": "uid-1",
            "labels": {"app": "train", **(labels or {})},
            "annotations": {DEVICE: "1"},
        },
        "spec": {
            "nodeName": "node-a",
            "priority": 7,
            "schedulerName": "default-scheduler",
            "containers": [container, *(containers or [])],
            "affinity": affinity or {"podAffinity": {}},
        },
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"},
    }
    return compact_pod(whole, COUNTING.pod_annotations)


def read(obj: object) -> Pod:
    found = PodReader().read(obj)
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize(
    ("large", "left_out"),
    [
        pytest.param({"labels": LABELS}, ["metadata.labels"], id="labels"),
        pytest.param({"affinity": AFFINITY}, ["spec.affinity"], id="affinity"),
        pytest.param({"labels": LABELS, "affinity": AFFINITY}, ["metadata.labels", "spec.affinity"], id="both"),
        pytest.param(
            {"labels": LABELS, "affinity": AFFINITY, "containers": CONTAINERS},
            ["metadata.labels", "spec.affinity", "spec.containers[].name"],
            id="names of containers",
        ),
    ],
)
def test_large_pod_is_published_with_fields_needed_to_count_it(large: dict[str, object], left_out: list[str]) -> None:
    pod = large_pod(**large)  # type: ignore[arg-type]
    packed = pack([Change(*KEY, pod)])

    [(resource, key, published)] = unpack(packed.items)
    assert max(map(len, packed.items)) <= MAX_ITEM_BYTES
    assert (resource, key) == KEY
    assert published is not None
    assert published[LEFT_OUT][: len(left_out)] == left_out  # type: ignore[index]
    before, now = read(pod), read(published)
    assert COUNTING.shares(now, {f"{MEMORY}#1": 8000}) == {f"{MEMORY}#1": 6000}
    assert now.spec.requests == before.spec.requests
    assert replace(now, label_set=before.label_set, spec=before.spec) == before
    assert now.priority == 7
    assert packed.omissions == {KEY: OmissionReason.REDUCED}


def test_reports_reduced_pod_in_later_snapshot() -> None:
    [(*_, published)] = unpack(pack([Change(*KEY, large_pod(labels=LABELS))]).items)
    packed = pack([Change(*KEY, published)])
    assert packed.omissions == {KEY: OmissionReason.REDUCED}
    assert list(unpack(packed.items)) == [Change(*KEY, published)]


def test_publishes_a_small_pod_with_all_fields() -> None:
    pod = large_pod()
    packed = pack([Change(*KEY, pod)])
    assert list(unpack(packed.items)) == [Change(*KEY, pod)]
    assert not packed.omissions
