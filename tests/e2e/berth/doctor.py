"""`berth doctor` as a user runs it, and its findings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from berth_cli.main import main
from tests.e2e.berth.berth_serve import COMMAND

KEYS = ("check", "result", "message", "remedy")


class ReportedFinding(NamedTuple):
    check: str
    result: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Diagnosis:
    """The findings and the exit status of the command."""

    findings: list[ReportedFinding]
    exit_status: int

    @property
    def bad(self) -> dict[str, str]:
        """Return the messages of failures and warnings by check; several messages of one check are joined."""
        found: dict[str, str] = {}
        for check, result, message, _ in self.findings:
            if result in ("failed", "warning"):
                found[check] = f"{found[check]}; {message}" if check in found else message
        return found

    def result(self, check: str) -> set[str]:
        return {each.result for each in self.findings if each.check == check}


def berth_doctor(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Diagnosis:
    """Run the command. Exit status 2 for wrong options fails the test."""
    done = subprocess.run(
        [str(word) for word in (COMMAND, "doctor", "-o", "json", *arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return _diagnosis(done.returncode, done.stdout, done.stderr)


def doctor_in_process(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Diagnosis:
    """Run the command in this process, which is faster than a new one."""
    words = ["doctor", "-o", "json", *map(str, arguments)]
    done = CliRunner().invoke(main, words, prog_name="berth", env=environment)
    return _diagnosis(done.exit_code, done.stdout, done.stderr)


def _diagnosis(exit_status: int, printed: str, errors: str) -> Diagnosis:
    assert exit_status in (0, 1) and printed, errors  # noqa: PT018  one thing: it ran
    found = [ReportedFinding(*(each[key] for key in KEYS)) for each in json.loads(printed)["findings"]]
    return Diagnosis(found, exit_status)
