"""Pods of begun binds: which of them count, and for how long."""

from __future__ import annotations

from contextlib import suppress

import pytest

from berth.ledger.announcements import BegunBind
from berth.nodecache.binds_under_way import MAX_PODS, BegunBinds
from berth.pods import Binding
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.pod_group import GANG_ANNOTATION
from tests.builders.pods import pod, pod_with

POD = pod("train-0", uid="uid-train-0")
BINDING = Binding("ml", "train-0", "uid-train-0", "node-a")


def asked(*pods: Pod) -> BegunBinds:
    binds = BegunBinds()
    for each in pods:
        binds.asked_about(each)
    return binds


def test_pod_counts_on_its_node_while_its_bind_runs() -> None:
    binds = asked(POD)
    assert binds.pods() == ()
    with binds.begun(BINDING):
        assert [(each.uid, each.node_name, each.spec) for each in binds.pods()] == [("uid-train-0", "node-a", POD.spec)]
    assert binds.pods() == ()


def test_pod_no_longer_counts_after_a_failed_bind() -> None:
    binds = asked(POD)
    with suppress(RuntimeError), binds.begun(BINDING):
        raise RuntimeError
    assert binds.pods() == ()


def named_in_gang() -> Pod:
    found = read_pod(pod_with("train-0", metadata={"annotations": {GANG_ANNOTATION: "train"}}))
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize(
    "binds",
    [
        pytest.param(asked(), id="a pod that was not evaluated"),
        pytest.param(asked(POD, *(pod(uid=f"uid-{n}") for n in range(MAX_PODS))), id="too many pods evaluated since"),
        pytest.param(asked(named_in_gang()), id="a pod that waits for its gang"),
    ],
)
def test_bind_of_an_unknown_or_waiting_pod_does_not_count(binds: BegunBinds) -> None:
    with binds.begun(BINDING):
        assert binds.pods() == ()


@pytest.mark.parametrize(
    ("binds", "counted"),
    [
        pytest.param(asked(POD), ["node-a"], id="scored here"),
        pytest.param(asked(), [], id="scored by another process"),
        pytest.param(asked(named_in_gang()), [], id="a pod that waits for its gang"),
    ],
)
def test_bind_of_another_process_counts_if_its_pod_was_scored_here(binds: BegunBinds, counted: list[str]) -> None:
    found = binds.pods_of([BegunBind(POD.uid, "node-a", 100.0)])
    assert [each.node_name for each in found] == counted
