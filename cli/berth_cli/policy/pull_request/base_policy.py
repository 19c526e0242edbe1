"""The policy as it is on the branch that a pull request is to be merged into."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from os.path import normpath

from berth_cli.input_files import InvalidInput

KUBE_SCHEDULER_ALONE = b"profile: full\n"
"""What a first policy is compared with: Berth adds nothing to kube-scheduler's own plugins."""

Git = Callable[[Sequence[str]], bytes | None]
"""Runs git with these arguments. Returns what it prints; None if it fails."""


def base_policy(git: Git, commit: str, path: str) -> bytes | None:
    """The file at this commit; None if the commit has no such file. Raises InvalidInput without the commit."""
    path = normpath(path)
    if commit.startswith("-"):
        raise InvalidInput(f"the base {commit!r} is not a commit")
    if git(["cat-file", "-e", f"{commit}^{{commit}}"]) is None:
        # A checkout has one commit by default.
        git(["fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit])
    files = git(["ls-tree", "--name-only", "-z", commit, "--", path])
    if files is None:
        raise InvalidInput(
            f"git has no commit {commit}, and cannot fetch it; run actions/checkout before, with fetch-depth: 0"
        )
    return git(["show", f"{commit}:./{path}"]) if files else None


def run_git(arguments: Sequence[str]) -> bytes | None:
    """Run git in the working directory."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError as error:
        raise InvalidInput(f"git cannot be run: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else None
