"""Reads the results of a Go test binary."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

RUN = re.compile(r"^=== RUN +(\S+)$", re.MULTILINE)
# Lines of klog begin with a letter for their level and the date.
MESSAGE = re.compile(r"^\s+\w+_test\.go:\d+: (?![IWE]\d{4} ).*", re.MULTILINE)
END = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$", re.MULTILINE)


class Outcome(StrEnum):
    """How a case ended. UNFINISHED: the test timed out, or its process ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNFINISHED = "unfinished"


WORDS = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}


@dataclass(frozen=True, slots=True)
class Execution:
    """A run of a test binary. group: the first part of the names of its cases. results: by the rest of the names."""

    group: str
    log: Path
    results: Mapping[str, Outcome]

    def symptom(self, case: str) -> str:
        """Return the first line that the test wrote about a case that has not passed."""
        _, _, after = self.log.read_text(errors="replace").partition(f"=== RUN   {case}\n")
        found = MESSAGE.search(after)
        return found[0].strip() if found else ""


def read_results(output: str) -> Mapping[str, Outcome]:
    """Return the cases of a binary's output with -test.v, by name. A test with subtests is not a case itself, unless it
    fails though all subtests pass."""
    ended = {name: WORDS[word] for word, name in END.findall(output)}
    begun = dict.fromkeys(RUN.findall(output))
    results = {name: ended.get(name, Outcome.UNFINISHED) for name in begun}
    parents = {name.rpartition("/")[0] for name in results}
    broken = {name for name in results if results[name] not in (Outcome.PASSED, Outcome.SKIPPED)}
    return {
        name: outcome
        for name, outcome in results.items()
        if name not in parents or (name in broken and not any(each.startswith(f"{name}/") for each in broken))
    }
