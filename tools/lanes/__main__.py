"""`python3 -m tools.lanes change` and `python3 -m tools.lanes nightly`: the two lanes of checks, one list of steps.

A step is a make target. Its output goes to `.build/lanes/LANE/TARGET.log`. Steps that only compute run in the
background, and steps that wait for clusters of their own run beside the others. The lane for every change shows the
output of all but the background and stops at the first failure; the nightly lane goes on. Both end with a table of
times and figures, and exit with 1 if a step failed. Ctrl-C and SIGTERM end the running steps first, and print the
table of what has run. With --continue, a lane leaves out what has passed at the same commit, and its table has both.
Needs nothing but Python, since it sets up the rest.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from tools.lanes.lane_run import Interrupts, Result, run, table
from tools.lanes.passed_steps import CannotContinue, PassedSteps, clean_commit, commands
from tools.lanes.steps import PROJECT, STEPS, Lane, steps_from

LOGS = PROJECT / ".build" / "lanes"
PASSED = "passed.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 if all steps of the lane have passed, 1 if one failed, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(prog="lanes", description="Run a lane of checks.")
    parser.add_argument("lane", type=Lane, choices=list(Lane), metavar="change|nightly")
    parser.add_argument(
        "--from",
        dest="first",
        choices=[step.target for step in STEPS],
        metavar="STEP",
        help="begin with this step, and leave out those before it",
    )
    parser.add_argument(
        "--continue",
        dest="continues",
        action="store_true",
        help="leave out what has passed in this clone at this commit",
    )
    options = parser.parse_args(arguments)
    lane: Lane = options.lane
    steps = [step for step in steps_from(options.first) if step.command(lane) is not None]
    kept = PassedSteps(LOGS / lane / PASSED, clean_commit, lambda: datetime.now(UTC))
    try:
        before = kept.of(lane, steps) if options.continues else {}
    except CannotContinue as error:
        parser.error(str(error))
    interrupts = Interrupts()
    interrupts.handle()
    started = time.monotonic()
    order = commands(lane, steps)
    left = [step for step, command in zip(steps, order, strict=True) if command not in before]
    ended = run(lane, left, LOGS / lane, interrupts, keep=kept.keep)
    shown = sorted([*before.values(), *ended], key=lambda step: order.index(step.command))
    print(f"\n{table(shown, time.monotonic() - started)}")
    return 130 if interrupts.is_interrupted else int(any(step.result is not Result.PASSED for step in ended))


if __name__ == "__main__":
    sys.exit(main())
