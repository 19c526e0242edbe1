"""Pods that are too large for an item: the cache has what counting and the rules need of them."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from berth.nodecache.feed.changes import LEFT_OUT, MAX_ITEM_BYTES, Change, OmissionReason, pack, unpack
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import compact_pod

MEMORY = "example.com/gpumem"
DEVICE = "berth.dev/example.com.gpumem"
COUNTING = Counting([ManagedResource.model_validate({"name": MEMORY, "devices": {"sizes": {"nodeLabel": "sizes"}}})])
KEY = ("pods", "ml/train")


def noise(seed: int) -> str:
    """62 characters that hardly compress."""
    return sha256(str(seed).encode()).hexdigest()[:62]


LABELS = {noise(number): noise(-number) for number in range(1, 9_000)}
TERMS = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": noise(number)}}} for number in range(14_000)]
AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}
CONTAINERS = [{"name": noise(number), "resources": {"requests": {"cpu": "1m"}}} for number in range(14_000)]


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
def test_publishes_large_pod_reduced_to_the_fields_needed_to_count_it(
    large: dict[str, object], left_out: list[str]
) -> None:
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


def test_publishes_small_pod_unchanged() -> None:
    pod = large_pod()
    packed = pack([Change(*KEY, pod)])
    assert list(unpack(packed.items)) == [Change(*KEY, pod)]
    assert not packed.omissions


@pytest.mark.parametrize("shared", [None, "no JSON", "[]", "{}"])
def test_publishes_large_object_that_cannot_be_reduced_as_deleted(shared: str | None) -> None:
    pod = {"metadata": {"name": "train", "labels": LABELS}, "shared": shared}
    packed = pack([Change(*KEY, pod)])
    assert list(unpack(packed.items)) == [Change(*KEY, None)]
    assert packed.omissions == {KEY: OmissionReason.TOO_LARGE}
