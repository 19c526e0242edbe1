"""What has passed of a lane at a commit, so that a lane that was interrupted can continue."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from tools.lanes.lane_run import FinishedStep, Result
from tools.lanes.steps import PROJECT, Lane, Step


class CannotContinue(Exception):
    """The message names cause and remedy."""


class PassedSteps:
    """A file with one JSON object a line: a step that passed, and at which commit.

    A step that ran with changes that are not committed, or while they came, is not kept: nobody could say what it was
    that passed.
    """

    def __init__(self, file: Path, commit: Callable[[], str | None], now: Callable[[], datetime]) -> None:
        """commit: of the working tree at the moment; None with changes that are not committed."""
        self._file = file
        self._commit_now = commit
        self._commit = commit()
        self._now = now

    def keep(self, step: FinishedStep) -> None:
        """If it passed."""
        if step.result is not Result.PASSED or self._commit is None or self._commit_now() != self._commit:
            return
        record = {**asdict(step), "commit": self._commit, "at": f"{self._now():%Y-%m-%d %H:%M}"}
        with self._file.open("a") as file:
            file.write(f"{json.dumps(record)}\n")

    def of(self, lane: Lane, steps: Sequence[Step]) -> dict[str, FinishedStep]:
        """Those of the steps that have passed at this commit, by command. Raises CannotContinue."""
        if self._commit is None:
            raise CannotContinue("there are changes that are not committed: what has passed, passed without them")
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        records = [record for record in map(json.loads, lines) if record.pop("commit") == self._commit]
        passed = {record["command"]: FinishedStep(**{**record, "result": Result.PASSED}) for record in records}
        return {command: passed[command] for command in commands(lane, steps) if command in passed}


def commands(lane: Lane, steps: Sequence[Step]) -> list[str]:
    """What make is given for each step."""
    return [" ".join(step.command(lane) or []) for step in steps]


def clean_commit() -> str | None:
    """The commit of the working tree; None with changes, or where there is no repository."""
    git = shutil.which("git")
    if git is None:
        return None
    changes, commit = (
        subprocess.run([git, *words], cwd=PROJECT, capture_output=True, text=True, check=False)
        for words in (("status", "--porcelain", "--untracked-files=normal"), ("rev-parse", "HEAD"))
    )
    if changes.returncode or changes.stdout or commit.returncode:
        return None
    return commit.stdout.strip()
