"""`python -m tests.chaos`: what it shows when a set-up fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import __main__ as chaos


class _NeverReady:
    """A set-up whose API server does not become ready."""

    def __init__(self, home: Path, seed: int) -> None:
        """Where its logs would be, and what it would draw by."""

    def __enter__(self) -> None:
        raise TimeoutError("kube-apiserver is not ready")

    def __exit__(self, *_: object) -> None:
        raise AssertionError("it was never set up")


def test_failed_set_up_is_a_broken_round_and_the_next_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chaos, "SetUp", _NeverReady)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    for needed in ("COMMAND", "BINARY"):
        monkeypatch.setattr(chaos, needed, tmp_path)
    monkeypatch.setattr("sys.argv", ["chaos", "--only", "head-lost,watches-expired", "--logs", str(tmp_path / "logs")])
    assert chaos.main() == 1
    shown = capsys.readouterr()
    assert "2 rounds, 2 broken" in shown.out
    assert "set-up: TimeoutError('kube-apiserver is not ready')" in shown.err
