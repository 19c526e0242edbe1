"""The steps of the two lanes, in their order, and what the table shows of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]

PYTEST = r"\d+ (?:passed|failed|error|skipped)\b.* in [\d.]+s.*"
GANGS = r"gangs: \d+ of \d+ targets met"
COLOUR = r"\x1b\[[\d;]*m"
FIGURE_WIDTH = 100


class Lane(StrEnum):
    """Which of the two."""

    CHANGE = "change"
    NIGHTLY = "nightly"


class Track(StrEnum):
    """What a step runs beside. The steps of a track run in their order, from where the first of them stands."""

    FOREGROUND = "foreground"
    CLUSTERS = "clusters"
    """It has a cluster of its own, and waits for it more than it computes."""
    BACKGROUND = "background"
    """It needs processors and no cluster: at the lowest priority."""
    ALONE = "alone"
    """It measures: it begins when the other tracks have ended, and has nothing beside it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A make target, with its variables in each lane; None: the lane is without it.

    `figure`: a regular expression for what the table shows of its output: all its matches. Without one it shows the
    last line.
    """

    target: str
    change: str | None = ""
    nightly: str | None = ""
    figure: str = ""
    track: Track = Track.FOREGROUND

    def command(self, lane: Lane) -> list[str] | None:
        """What make is given, or None."""
        variables = self.change if lane is Lane.CHANGE else self.nightly
        return None if variables is None else [self.target, *variables.split()]


STEPS = (
    Step("tools"),
    Step("lint", figure=r"no issues found in \d+ source files"),
    Step("test", figure=PYTEST),
    # The first in the background, and the first with clusters beside the other steps: these tracks begin here.
    Step("spec", figure=r"\d+ configurations, \d+ s", track=Track.BACKGROUND),
    Step(
        "versions",
        change=None,
        figure=rf"{PYTEST}|{GANGS}|\w+: \d+ of \d+ cases differ|facts of .*",
        track=Track.CLUSTERS,
    ),
    Step("e2e-core", nightly=None, figure=PYTEST, track=Track.CLUSTERS),
    Step("console-check", figure=r"# (?:pass|fail) \d+|.*SKIPPED.*"),
    Step("chromium"),
    Step("console-test", figure=PYTEST),
    Step("test-external", nightly="GANG_COMMIT=every-write", figure=PYTEST),
    Step("test-long", figure=PYTEST),
    Step("demo"),
    Step("docs", figure="Documentation built in .*"),
    Step("validate", figure="is a valid SAM Template"),
    Step("scan"),
    Step("build", figure=PYTEST),
    Step("wheel", change=None),
    Step("sbom", change=None),
    Step("audit", change=None, figure=r"audit of what is locked: .*"),
    Step("spec-large", change=None, figure=r"\d+ configurations, \d+ s", track=Track.BACKGROUND),
    Step(
        "simulation",
        change="N=200 RULES=200",
        nightly=None,
        figure=r"\d+ binds cut short.*|.* rules about pods, .*",
        track=Track.BACKGROUND,
    ),
    Step(
        "soak",
        change=None,
        nightly="N=2000 BINDS=60000 MEMBERS=1000 EACH=2",
        figure=r"\d+ binds by .*",
        track=Track.BACKGROUND,
    ),
    # The memory stays the same from some hundred shapes on. SHAPES=3600 is an hour of one pod a second.
    Step("soak-verbs", change=None, nightly="SHAPES=1200", figure=r"\w+: peak \d+ MB", track=Track.BACKGROUND),
    Step("fuzz-pods", change=None, figure=r"\w+: slowest [^;]*", track=Track.BACKGROUND),
    Step(
        "parity",
        change="N=1000 LEAST=250",
        nightly="N=20000 LEAST=5000",
        figure=r"\w+: \d+ of \d+ cases differ",
        track=Track.BACKGROUND,
    ),
    Step("e2e", change=None, nightly="REPEAT=20 TARGETS=1", figure=rf"{PYTEST}|{GANGS}"),
    Step(
        "chaos",
        # In this order seed 0 begins with the losses of the head and of the cache, which take the longest.
        change="ONLY=api-faults,watches-expired,clock-ahead,head-lost,both-berths-frozen,cache-emptied WITHIN=150",
        # Every fault twice: once would follow the same fault all night, four times took more than an hour.
        nightly="SEED=today ROUNDS=70",
        figure=r"\d+ rounds, \d+ broken",
        track=Track.CLUSTERS,
    ),
    # So many pods a second: not in the background, where it falls behind and catches up.
    Step("soak-serve", change=None, figure=r"growth after .*", track=Track.CLUSTERS),
    Step("sam-local-core", nightly=None),
    Step("sam-local", change=None),
    Step("image", change=None, figure=r"built .*|image .* passed"),
    Step("bench-guard", figure=r"guard: .*", track=Track.ALONE),
    Step("bench-replay", change=None, figure=r"replay\.\S+seconds +\S+ s/day", track=Track.ALONE),
    Step(
        "bench-console",
        change=None,
        nightly="MOST_PAINT=1000 MOST_FRAME=17",
        figure=r".*(?:paint|frames).*",
        track=Track.ALONE,
    ),
    Step("bench", change=None, track=Track.ALONE),
    # The FROM of `make nightly` is a step, and make hands it on.
    Step("bench-scheduler", change=None, nightly="SMALL=1 FROM=", figure=r"\d+ +\S+ +[\d.]+", track=Track.ALONE),
)


def steps_from(first: str | None) -> list[Step]:
    """The steps, without those before the one with this target."""
    targets = [step.target for step in STEPS]
    return list(STEPS[targets.index(first) if first else 0 :])


def figure(step: Step, output: str) -> str:
    """What the table shows of a step's output."""
    output = re.sub(COLOUR, "", output)
    if step.figure:
        return "; ".join(found.strip("= ") for found in re.findall(step.figure, output))[:FIGURE_WIDTH]
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("make")]
    return lines[-1][:FIGURE_WIDTH] if lines else ""
