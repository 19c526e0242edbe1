"""`berth doctor` as a user runs it, and its findings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .berth_serve import COMMAND


@dataclass(frozen=True)
class Diagnosis:
    """What was printed: check, result and text of each finding."""

    findings: list[tuple[str, str, str]]
    exit_status: int

    @property
    def bad(self) -> dict[str, str]:
        """What failed or is a warning: check to text; several of one check are joined."""
        found: dict[str, str] = {}
        for check, result, told in self.findings:
            if result in ("failed", "warning"):
                found[check] = f"{found[check]}; {told}" if check in found else told
        return found

    def result(self, check: str) -> set[str]:
        return {result for name, result, _ in self.findings if name == check}


def berth_doctor(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Diagnosis:
    """Exit status 2, wrong options, is an error of the test."""
    done = subprocess.run(
        [str(word) for word in (COMMAND, "doctor", "-o", "json", *arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode in (0, 1), done.stderr
    findings = json.loads(done.stdout)["findings"]
    return Diagnosis([(each["check"], each["result"], each["told"]) for each in findings], done.returncode)
