"""Runs, their medians, and the machine that they were measured on; as JSON."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean, median

from tests.bench.scheduler.cases import (
    CASES,
    Case,
    baseline,
    beside_none,
    peer,
    target,
    with_one_scheduler,
)

NAMED = {case.name: case for case in CASES}


@dataclass(frozen=True, slots=True)
class Counted:
    """What binds did. `conflicts`: conditional writes whose condition was not met. `overcommitted`: nodes with more
    than they may have, of the counted resource or of the pods that exclude each other. `taken`: slots of the counted
    resource at the end. `rejected`: pods that the scheduler then found no slot for. None: not counted."""

    writes: int
    conflicts: int
    overcommitted: int
    taken: int | None = None
    rejected: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement. `pods` were bound in `seconds`, after the first ones, which warm everything up.

    `load`: the machine's load average of a minute when it began. `placed`: all pods that were bound. `took`: seconds,
    with all that was started and cleared for it; 0 where it is not known. `asked`: the pods of a run by the command
    line; a case may have fewer. `date`: when it was measured.
    """

    case: str
    nodes: int
    number: int
    pods: int
    seconds: float
    placed: int
    load: float
    counted: Counted | None = None
    took: float = 0.0
    asked: int = 0
    date: str = ""

    @property
    def rate(self) -> float:
        """Pods a second."""
        return self.pods / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """Pods a second of a case to those of another one. `target`: the least that it should be; None: none."""

    case: str
    to: str
    nodes: int
    value: float
    target: float | None


@dataclass(frozen=True, slots=True)
class Machine:
    """Where."""

    cores: int
    processor: str
    python: str
    kubernetes: str


@dataclass(slots=True)
class Results:
    """Runs of one or more calls of the command. Of a case and size all have the same number of pods."""

    machine: Machine
    runs: list[Run] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        """Numbers of nodes."""
        return sorted({run.nodes for run in self.runs})

    @property
    def cases(self) -> list[Case]:
        """Those that were measured, in the order of the table."""
        measured = {run.case for run in self.runs}
        return [case for case in CASES if case.name in measured]

    def of(self, case: Case, nodes: int) -> list[Run]:
        """Its runs."""
        name = case.name
        return [run for run in self.runs if run.case == name and run.nodes == nodes]

    def rate(self, case: Case | None, nodes: int) -> float | None:
        """The median of the runs, in pods a second."""
        found = [] if case is None else [run.rate for run in self.of(case, nodes)]
        return median(found) if found else None

    def asked(self, case: Case | None, nodes: int) -> int | None:
        """The pods of its runs."""
        return next((run.asked for run in ([] if case is None else self.of(case, nodes))), None)

    def ratio(self, case: Case, to: Case | None, nodes: int) -> float | None:
        """Of the medians of runs with as many pods."""
        rate, other = self.rate(case, nodes), self.rate(to, nodes)
        if rate is None or not other or to == case or self.asked(case, nodes) != self.asked(to, nodes):
            return None
        return rate / other

    def has(self, case: Case, nodes: int, number: int, asked: int) -> bool:
        """Whether this run was measured with so many pods."""
        return any((run.number, run.asked) == (number, asked) for run in self.of(case, nodes))

    def add(self, run: Run) -> None:
        """It replaces the runs of its case and size that had another number of pods."""
        self.runs = [
            each for each in self.runs if (each.case, each.nodes) != (run.case, run.nodes) or each.asked == run.asked
        ]
        self.runs.append(run)

    def seconds(self, case: Case, nodes: int) -> float | None:
        """How long a run takes: of this case, else of a case with as many nodes, else of any; None: not known."""
        for those in (self.of(case, nodes), [run for run in self.runs if run.nodes == nodes], self.runs):
            if known := [run.took for run in those if run.took]:
                return mean(known)
        return None

    @property
    def ratios(self) -> list[Ratio]:
        """Of the medians, with the targets."""
        return [
            Ratio(case.name, other.name, nodes, round(value, 3), target(case, other, nodes))
            for nodes in self.sizes
            for case in self.cases
            for other in (beside_none(case), baseline(case), peer(case), with_one_scheduler(case))
            if other is not None and (value := self.ratio(case, other, nodes)) is not None
        ]

    def loads(self) -> tuple[float, float]:
        """The smallest and the largest."""
        found = [run.load for run in self.runs]
        return min(found), max(found)

    def json(self) -> str:
        """The file. The ratios in it are for people and other programs: `read` computes them again."""
        return json.dumps({**asdict(self), "ratios": [asdict(each) for each in self.ratios]}, indent=1) + "\n"


def read(file: Path) -> Results:
    """What `Results.json` wrote."""
    document = json.loads(file.read_text())
    # Files that are older have one date for all runs.
    date = document["machine"].pop("date", "")
    runs = [
        Run(**{"date": date, **run, "counted": None if run["counted"] is None else Counted(**run["counted"])})
        for run in document["runs"]
    ]
    return Results(Machine(**document["machine"]), runs)


def today() -> str:
    """The date of a run."""
    return time.strftime("%Y-%m-%d")


def machine(kubernetes: str) -> Machine:
    """This one."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        processor=model,
        python=platform.python_version(),
        kubernetes=kubernetes,
    )


def load() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def rate_of(times: Sequence[float], end: float | None = None, warm_up: float = 0.1) -> tuple[int, float]:
    """Pods and seconds, from when each pod was bound. The first ones, as a share of all, only warm up.

    end: when the run ended before all pods were bound: a scheduler that stands still is as slow as one that is slow.
    """
    ordered = sorted(times)
    first = int(len(ordered) * warm_up)
    measured = ordered[first:]
    if len(measured) < 2:
        return 0, 0.0
    return len(measured) - 1, (measured[-1] if end is None else end) - measured[0]
