"""What a lane leaves out when it continues: what has passed at the same commit."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tools.lanes import __main__ as lanes
from tools.lanes import lane_run, passed_steps
from tools.lanes.steps import Lane, Step

STEPS = (Step("first"), Step("second", nightly="N=9"), Step("third"), Step("small", nightly=None))


@pytest.fixture(autouse=True)
def handled_signals() -> Iterator[None]:
    """main() sets handlers."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


class Clone:
    """A clone with a lane of three steps. commits: of each look at the tree; then it is always `commit`."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._directory = directory
        self._broken = directory / "broken"
        self.commit: str | None = "one"
        self.commits: list[str | None] = []
        shell = f'echo $0 >> "{directory}/run"; ! grep -qx $0 "{self._broken}"'
        monkeypatch.setattr(lanes, "LOGS", directory / "logs")
        monkeypatch.setattr(lanes, "steps_from", lambda first: list(STEPS))
        monkeypatch.setattr(lanes, "clean_commit", lambda: self.commits.pop(0) if self.commits else self.commit)
        monkeypatch.setattr(lanes, "run", partial(lane_run.run, make=("sh", "-c", shell)))

    def run(self, *options: str, broken: str = "") -> tuple[int, list[str]]:
        """Exit status, and what has run. broken: a step that fails."""
        self._broken.write_text(f"{broken}\n")
        ran = self._directory / "run"
        ran.unlink(missing_ok=True)
        status = lanes.main([Lane.NIGHTLY, *options])
        return status, ran.read_text().split() if ran.exists() else []


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    return Clone(tmp_path, monkeypatch)


def test_runs_again_what_has_failed_and_shows_all(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    assert clone.run(broken="second") == (1, ["first", "second", "third"])
    capsys.readouterr()
    assert clone.run("--continue") == (0, ["second"])
    shown = [line for line in capsys.readouterr().out.splitlines() if "passed  " in line]
    assert [line.split("  ")[0] for line in shown] == ["first", "second N=9", "third"]
    assert [line.endswith(")") for line in shown] == [True, False, True]
    assert clone.run("--continue") == (0, [])


def test_runs_everything_again_unless_asked_to_continue(clone: Clone) -> None:
    clone.run()
    assert clone.run() == (0, ["first", "second", "third"])


def test_runs_everything_at_another_commit(clone: Clone) -> None:
    clone.run()
    clone.commit = "another"
    assert clone.run("--continue") == (0, ["first", "second", "third"])


def test_keeps_nothing_that_passed_with_changes(clone: Clone) -> None:
    clone.commit = None
    clone.run()
    clone.commit = "one"
    assert clone.run("--continue") == (0, ["first", "second", "third"])


@pytest.mark.parametrize("later", [pytest.param(None, id="a change"), pytest.param("two", id="a commit")])
def test_keeps_nothing_that_passed_while_files_changed(clone: Clone, later: str | None) -> None:
    """A night takes hours, and somebody may edit meanwhile."""
    clone.commits = ["one", later, "one", "one"]
    clone.run()
    assert clone.run("--continue") == (0, ["first"])


def test_refuses_to_continue_with_changes(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    clone.commit = None
    with pytest.raises(SystemExit, match="2"):
        clone.run("--continue")
    assert "changes that are not committed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "is_clean"),
    [
        pytest.param("", True, id="as committed"),
        pytest.param("tracked", False, id="a changed file"),
        pytest.param("another", False, id="a new file"),
        pytest.param("ignored", True, id="an ignored file"),
    ],
)
def test_commit_stands_for_a_tree_without_changes(
    change: str, is_clean: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.hooksPath=/dev/null")
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "--quiet")
    (tmp_path / "tracked").touch()
    (tmp_path / ".gitignore").write_text("ignored\n")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    if change:
        (tmp_path / change).write_text("changed")
    monkeypatch.setattr(passed_steps, "PROJECT", tmp_path)
    assert passed_steps.clean_commit() == (git("rev-parse", "HEAD") if is_clean else None)


def test_no_commit_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_steps, "PROJECT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert passed_steps.clean_commit() is None
