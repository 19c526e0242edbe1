"""Faults caused by the owners of running pods."""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from random import Random
from threading import Event, Thread

from tests.chaos.cluster_model import DEVICE_ANNOTATION, pod_on_account
from tests.chaos.set_up import SetUp
from tests.chaos.workload import path_of
from tests.e2e.kubernetes.kubernetes_api import ApiError, JsonObject, KubernetesApi

EDIT_SECONDS = 0.3

OVERSIZED_PODS = 3
RUNNING_SECONDS = 60
"""The longest time in seconds that the required pods may take to run."""

OVERSIZED_LABELS = 1700
"""Number of labels of 370 characters each, which hardly compress: above the 350 kB of an item, below etcd's limit."""


@contextmanager
def owners_edit(set_up: SetUp) -> Iterator[None]:
    """Change or remove the device annotation of running pods, as their owners may; restore it in the end.

    Such a pod still holds the device of its Binding (see `Witness.as_bound`).
    """
    over = Event()
    before: dict[str, str] = {}

    def edit() -> None:
        random = Random(set_up.random.random())
        api = KubernetesApi(set_up.credentials)
        while not over.wait(EDIT_SECONDS):
            running = [each for each in api.get("/api/v1/pods")["items"] if DEVICE_ANNOTATION in _annotations(each)]
            if running:
                chosen = random.choice(running)
                path = path_of(chosen)
                before.setdefault(path, _annotations(chosen)[DEVICE_ANNOTATION])
                _annotate(api, path, random.choice(("0", "1", "200", "none", None)))

    thread = Thread(target=edit, name="owners", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10)
        for path, device in before.items():
            _annotate(set_up.api, path, device)


def _annotations(found: JsonObject) -> dict[str, str]:
    annotations: dict[str, str] = found["metadata"].get("annotations", {})
    return annotations


def _annotate(api: KubernetesApi, path: str, device: str | None) -> None:
    with suppress(ApiError):
        api.patch(path, {"metadata": {"annotations": {DEVICE_ANNOTATION: device}}})


@contextmanager
def pods_grow(set_up: SetUp) -> Iterator[None]:
    """Give running pods more labels than an item of the cache has room for, as owners may; change the leader."""
    set_up.wait_until(lambda: len(_counted_and_running(set_up)) >= OVERSIZED_PODS, RUNNING_SECONDS, "pods run")
    running = _counted_and_running(set_up)
    set_up.random.shuffle(running)
    # Only pods that the workload has not deleted yet and will not delete meanwhile.
    kept = (each for each in running if set_up.workload.forget(path_of(each)))
    chosen = list(islice(kept, OVERSIZED_PODS))
    for each in chosen:
        set_up.api.patch(path_of(each), {"metadata": {"labels": _large_labels(set_up.random)}})
    set_up.raise_epoch(set_up.epoch() + 1)
    yield
    for each in chosen:
        with suppress(ApiError):
            set_up.api.patch(path_of(each), {"metadata": {"labels": None}})
        set_up.workload.delete(path_of(each))


def _counted_and_running(set_up: SetUp) -> list[JsonObject]:
    """Return the workload's pods that are on a node and request counted resources."""
    pods = set_up.api.get("/api/v1/pods")["items"]
    return [each for each in pods if each["spec"].get("nodeName") and _requests(each)]


def _requests(found: JsonObject) -> bool:
    return bool(pod_on_account(found).request)


def _large_labels(random: Random) -> dict[str, str]:
    def drawn(length: int) -> str:
        return "".join(random.choices(string.ascii_lowercase + string.digits, k=length))

    return {f"{'.'.join(drawn(60) for _ in range(4))}/{drawn(63)}": drawn(63) for _ in range(OVERSIZED_LABELS)}
