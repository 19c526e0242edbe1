"""What a test binary of Go says of its cases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

RUN = re.compile(r"^=== RUN +(\S+)$", re.MULTILINE)
END = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)$", re.MULTILINE)


class Outcome(StrEnum):
    """How a case ended. UNFINISHED: the test's time was over, or its process ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNFINISHED = "unfinished"


WORDS = {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED, "SKIP": Outcome.SKIPPED}


@dataclass(frozen=True, slots=True)
class Result:
    """outcome, and the seconds that the case took; those of an unfinished one are unknown."""

    outcome: Outcome
    seconds: float = 0.0


def read_results(output: str) -> Mapping[str, Result]:
    """The cases of a binary's output with -test.v, by name. A test with subtests is no case of its own, unless it fails
    though they all pass."""
    ended = {name: Result(WORDS[word], float(seconds)) for word, name, seconds in END.findall(output)}
    begun = dict.fromkeys(RUN.findall(output))
    results = {name: ended.get(name, Result(Outcome.UNFINISHED)) for name in begun}
    parents = {name.rpartition("/")[0] for name in results}
    broken = {name for name in results if results[name].outcome not in (Outcome.PASSED, Outcome.SKIPPED)}
    return {
        name: result
        for name, result in results.items()
        if name not in parents or (name in broken and not any(each.startswith(f"{name}/") for each in broken))
    }
