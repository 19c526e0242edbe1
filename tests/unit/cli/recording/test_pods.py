"""Pods of decisions, read again."""

from __future__ import annotations

import pytest

from berth_cli.recording.pods import PodsOfDecisions
from tests.builders.pods import pod_object


def test_the_decisions_of_a_pod_have_one_object() -> None:
    pods = PodsOfDecisions()
    assert pods.read(pod_object("p")) is pods.read(pod_object("p"))


def test_a_pod_that_has_changed_is_read_again() -> None:
    pods = PodsOfDecisions()
    before, after = pods.read(pod_object("p")), pods.read(pod_object("p", nominated_node="a"))
    assert (before.nominated_node, after.nominated_node) == ("", "a")


def test_the_oldest_pods_are_forgotten() -> None:
    pods = PodsOfDecisions(most=2)
    first = pods.read(pod_object("p0"))
    for name in ("p1", "p2"):
        pods.read(pod_object(name))
    assert pods.read(pod_object("p0")) is not first


def test_what_is_no_pod_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="metadata"):
        PodsOfDecisions().read({"metadata": 5})
