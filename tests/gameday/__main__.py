"""`python -m tests.gameday [--only FAULT,…] [--write]`."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from tests.conftest import PROJECT
from tests.deployment.emulator import COMMAND
from tests.e2e.kubernetes.control_plane import BINARY
from tests.gameday.commands import run_page
from tests.gameday.faults import FAULTS, Fault
from tests.gameday.rounds import GIVEN_UP, QUIET, Round, play, table
from tests.gameday.scene import Scene

PAGE = PROJECT / "docs" / "how-to" / "on-call.md"
BEGIN, END = "<!-- game day -->\n", "<!-- end of game day -->\n"
EVERY = (QUIET, *FAULTS)


def main() -> int:
    """Return the exit status: 1 if an alarm or a command does not work as expected, 130 after Ctrl-C."""
    chosen = _arguments()
    for missing, target in ((COMMAND, "make tools"), (BINARY, "make e2e")):
        if not missing.exists():
            print(f"{missing} is not there: {target}", file=sys.stderr)
            return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    directory = Path(tempfile.mkdtemp(prefix="game-day-"))
    rounds: list[Round] = []
    problems: list[str] = []
    try:
        with Scene(directory) as scene:
            problems = run_page(PAGE, scene)
            _say(f"commands of {PAGE.name}: {len(problems)} problems")
            _say(f"berth doctor, before the first fault: {dict(scene.known)}")
            for fault in chosen.only:
                rounds.append(play(scene, fault))
                _say(json.dumps(asdict(rounds[-1])))
    except KeyboardInterrupt:
        return 130
    except GIVEN_UP as error:
        problems.append(f"{type(error).__name__}: {error}")
    problems += [f"{each.fault}: {problem}" for each in rounds for problem in each.problems]
    print(*table(rounds), sep="\n")
    for problem in problems:
        _say(problem)
    if chosen.write:
        PAGE.write_text(_with_table(PAGE.read_text(), rounds))
    if not problems:
        shutil.rmtree(directory, ignore_errors=True)
    return int(bool(problems))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make game-day", description="Faults on the deployed stack, and its alarms.")
    parser.add_argument("--only", metavar="FAULT,…", type=_faults, default=EVERY, help="these rounds and no others")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    return parser.parse_args()


def _faults(text: str) -> Sequence[Fault]:
    known = {each.name: each for each in EVERY}
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such fault: {', '.join(unknown)}; one of: {', '.join(known)}")
    return [known[name] for name in text.split(",")]


def _with_table(page: str, rounds: Sequence[Round]) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    part = "" if len(rounds) == len(EVERY) else f", {len(rounds)} of {len(EVERY)} rounds"
    caption = f"Run of {datetime.now(UTC):%Y-%m-%d} on the emulator{part}:"
    return "\n".join([f"{before}{BEGIN}{caption}\n", *table(rounds), f"{END}{after}"])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
