"""A pod as the API server returns it to bind and the watcher."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.pods import FoundPod


@pytest.mark.parametrize(
    ("content", "scheduler"),
    [
        pytest.param({"spec": {"schedulerName": "berth-scheduler"}}, "berth-scheduler", id="as the spec names it"),
        pytest.param({"spec": {}}, "default-scheduler", id="the default without a name"),
        pytest.param({"spec": []}, "default-scheduler", id="the default if the spec is no object"),
    ],
)
def test_scheduler_of_a_pod_is_named_in_its_spec_or_the_default(content: Mapping[str, object], scheduler: str) -> None:
    assert FoundPod("uid", "", "1", False, content).scheduler == scheduler


@pytest.mark.parametrize(
    ("phase", "has_finished"), [("Running", False), ("Pending", False), ("Succeeded", True), ("Failed", True)]
)
def test_pod_has_finished_if_its_phase_is_succeeded_or_failed(phase: str, has_finished: bool) -> None:
    assert FoundPod("uid", "node", "1", False, {"status": {"phase": phase}}).finished == has_finished
