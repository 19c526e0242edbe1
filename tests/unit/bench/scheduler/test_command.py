"""The command of the benchmark: a run that fails, or Ctrl-C, loses no other run."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Self

import pytest

from tests.bench.scheduler import __main__ as command
from tests.bench.scheduler import documents, measurement
from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.results import Results, Run, machine, read


class FakeCluster:
    """Measures nothing. broken: the case whose run raises, and what."""

    broken: tuple[str, BaseException] | None = None
    measured: list[str]

    def __init__(self, directory: Path) -> None:
        type(self).measured = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was started."""

    def set_nodes(self, count: int) -> None:
        """There are none."""

    def run(self, case: Case, nodes: int, number: int, pods: int) -> Run:
        self.measured.append(case.name)
        if self.broken is not None and case.name == self.broken[0]:
            raise self.broken[1]
        return Run(case.name, nodes, number, 10, 1.0, 10, 0.5, None, 3.0, pods, "2026-11-24")


@pytest.fixture(autouse=True)
def output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("CONTROL_PLANE", "EXTENDER"):
        monkeypatch.setattr(command, name, tmp_path)
    monkeypatch.setattr(command, "OUTPUT", tmp_path / "output")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(measurement, "Cluster", FakeCluster)
    monkeypatch.setattr(FakeCluster, "broken", None)
    return tmp_path / "output" / "results.json"


def _call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", "--small", *map(str, arguments)])
    return command.main()


@pytest.mark.parametrize(
    ("error", "status"),
    [pytest.param(OSError("no room"), 1, id="failed"), pytest.param(KeyboardInterrupt(), 130, id="Ctrl-C")],
)
def test_next_call_measures_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
    output: Path,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
) -> None:
    monkeypatch.setattr(FakeCluster, "broken", ("berth-onlyone", error))
    assert _call(monkeypatch) == status
    assert [run.case for run in read(output).runs] == ["none", "null", "berth"]
    assert "--from" in capsys.readouterr().err
    monkeypatch.setattr(FakeCluster, "broken", None)

    assert _call(monkeypatch, "--from", output) == 0

    assert FakeCluster.measured == ["berth-onlyone"]
    assert [run.case for run in read(output).runs] == ["none", "null", "berth", "berth-onlyone"]


def test_runs_with_another_number_of_pods_are_measured_again(monkeypatch: pytest.MonkeyPatch, output: Path) -> None:
    _call(monkeypatch)

    assert _call(monkeypatch, "--from", output, "--pods", 80) == 0

    assert FakeCluster.measured == ["none", "null", "berth", "berth-onlyone"]
    assert [run.asked for run in read(output).runs] == [80] * 4


def test_complete_results_are_published_without_a_run(monkeypatch: pytest.MonkeyPatch, output: Path) -> None:
    published: list[Results] = []
    monkeypatch.setattr(documents, "publish", published.append)
    _call(monkeypatch)
    FakeCluster.measured = []

    assert _call(monkeypatch, "--from", output, "--write") == 0

    assert FakeCluster.measured == []
    assert [len(each.runs) for each in published] == [4]


def test_says_how_long_the_runs_will_take(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        command, "read", lambda _: Results(machine("any"), [FakeCluster(Path()).run(Case(Extender.NONE), 500, 9, 1)])
    )
    _call(monkeypatch)
    assert "4 runs, about 0 min" in capsys.readouterr().err.splitlines()


def test_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _call(monkeypatch, "--from", "absent.json")
    assert "absent.json" in capsys.readouterr().err
