"""The policy of the base, by git."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from berth_cli.input_files import InvalidInput
from berth_cli.policy.pull_request.base_policy import base_policy, run_git


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with a policy, in a folder of its own, and a second commit that changes it."""
    folder = tmp_path / "origin"
    (folder / "policies").mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    for text in ("old", "new"):
        (folder / "policies" / "berth.yaml").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text)
    return folder


def test_reads_the_file_of_the_commit(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(origin)
    base = git(origin, "rev-parse", "HEAD~1")
    assert base_policy(run_git, base, "policies/berth.yaml") == b"old"
    assert base_policy(run_git, base, "./policies/berth.yaml") == b"old"


def test_a_path_is_relative_to_the_working_directory(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(origin / "policies")
    assert base_policy(run_git, "HEAD~1", "berth.yaml") == b"old"


def test_a_commit_without_the_file_has_none(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(origin)
    assert base_policy(run_git, "HEAD", "other.yaml") is None


def test_fetches_a_commit_that_a_shallow_checkout_lacks(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = git(origin, "rev-parse", "HEAD~1")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert base_policy(run_git, base, "policies/berth.yaml") == b"old"


def test_a_commit_that_nobody_has_is_bad_input(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(origin)
    with pytest.raises(InvalidInput, match="has no commit 0123456, and cannot fetch it"):
        base_policy(run_git, "0123456", "policies/berth.yaml")


def test_a_base_is_never_an_option_of_git() -> None:
    def no_call(arguments: Sequence[str]) -> bytes | None:
        raise AssertionError(arguments)

    with pytest.raises(InvalidInput, match="is not a commit"):
        base_policy(no_call, "--output=x", "berth.yaml")
