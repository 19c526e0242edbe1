"""What the step that measures writes into the report."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.acceptance import __main__ as command
from tools.acceptance.run import StepFailed

OPTIONS = command.Options(
    stack="trial",
    region=None,
    parameters=(),
    kubeconfig=None,
    scheduler=None,
    url=None,
    pods=1,
    calls=1,
    burst=1,
    keep=False,
    use_build=Path("template.yaml"),
    metrics_wait=0.0,
)


def measured(monkeypatch: pytest.MonkeyPatch, status: int) -> list[str]:
    done = subprocess.CompletedProcess([], status, "| filter |\n", "")
    monkeypatch.setattr(command, "_berth", lambda *_, **__: done)
    return command.measure(OPTIONS)


def test_no_first_call_is_said_to_be_a_cold_start(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = measured(monkeypatch, 0)
    assert lines[0] == "| filter |"
    assert "no first call is a cold start" in lines[-1]


def test_a_call_without_an_answer_fails_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StepFailed, match="a call was not answered") as failed:
        measured(monkeypatch, 1)
    assert failed.value.lines == ("| filter |",)
