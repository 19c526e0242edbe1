"""`python -m tests.chaos [--seed N] [--rounds N] [--only FAULT,…] [--seconds N]`."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from itertools import islice
from pathlib import Path
from random import Random

from tests.chaos.checks import CheckKind, Checks
from tests.chaos.faults.every_fault import FAULTS, Fault
from tests.chaos.rounds import GIVEN_UP, Round, deck, given_up, play
from tests.chaos.set_up import SetUp
from tests.deployment.emulator import COMMAND
from tests.e2e.kubernetes.control_plane import BINARY

INTERRUPTED = 130


def main() -> int:
    """Print each round when it ends. Return the exit status: 1 if a check does not hold, 130 after Ctrl-C."""
    chosen = _arguments()
    for missing, target in ((COMMAND, "make tools"), (BINARY, "make e2e")):
        if not missing.exists():
            print(f"{missing} is not there: {target}", file=sys.stderr)
            return 1
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _interrupt)
    directory = Path(tempfile.mkdtemp(prefix="chaos-"))
    rounds: list[Round] = []
    interrupted = False
    try:
        _play(chosen, directory, rounds)
    except KeyboardInterrupt:
        interrupted = True
        _progress("interrupted; all that was started has ended")
    _show(rounds)
    held = bool(rounds) and all(each.holds for each in rounds)
    if held or interrupted:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        _progress(f"logs: {directory}")
    return INTERRUPTED if interrupted else 0 if held else 1


def _interrupt(*_: object) -> None:
    """Raise once: a second Ctrl-C must not interrupt the cleanup.

    It also handles SIGTERM, because a shell lets its background jobs ignore Ctrl-C by default.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description="Faults on a real control plane, and what holds.")
    parser.add_argument(
        "--seed", type=_seed, default=0, help="the order of the faults, and what is drawn in them; or: today"
    )
    parser.add_argument("--rounds", type=int, help="a fault each, by default each fault once; none twice before all")
    parser.add_argument("--only", metavar="FAULT,…", type=_faults, default=FAULTS, help="these faults and no others")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no other round begins")
    return parser.parse_args()


def _seed(text: str) -> int:
    return date.today().toordinal() if text == "today" else int(text)


def _faults(text: str) -> Sequence[Fault]:
    known = {each.name: each for each in FAULTS}
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such fault: {', '.join(unknown)}; one of: {', '.join(known)}")
    return [known[name] for name in text.split(",")]


def _play(chosen: argparse.Namespace, directory: Path, rounds: list[Round]) -> None:
    """Run all rounds. After a failed round, the next round gets a new set-up, so that it reports only its own fault."""
    left = islice(enumerate(deck(chosen.only, Random(chosen.seed)), 1), chosen.rounds or len(chosen.only))
    until = time.monotonic() + chosen.seconds
    set_ups = 0
    while (following := next(left, None)) is not None and time.monotonic() < until:
        set_ups += 1
        home = directory / f"set-up-{set_ups}"
        home.mkdir()
        began = time.monotonic()
        with ExitStack() as running:
            try:
                set_up = running.enter_context(SetUp(home, chosen.seed + set_ups - 1))
            except GIVEN_UP as error:
                rounds.append(given_up(following[0], chosen.seed, following[1], error))
                _progress(_line(rounds[-1]))
                continue
            _progress(f"set up in {time.monotonic() - began:.0f} s")
            _play_on(set_up, following, left, until, chosen.seed, rounds)


def _play_on(
    set_up: SetUp,
    following: tuple[int, Fault],
    left: Iterator[tuple[int, Fault]],
    until: float,
    seed: int,
    rounds: list[Round],
) -> None:
    """Run rounds on this set-up until a check does not hold, the time is over, or no round is left."""
    checks = Checks(set_up)
    upcoming: tuple[int, Fault] | None = following
    while upcoming is not None:
        rounds.append(play(upcoming[0], seed, upcoming[1], set_up, checks))
        _progress(_line(rounds[-1]))
        if not rounds[-1].holds or time.monotonic() > until:
            return
        upcoming = next(left, None)


def _line(done: Round) -> str:
    recovery = "not recovered" if done.recovery is None else f"recovered in {done.recovery:.1f} s"
    head = f"round {done.number} seed {done.seed} {done.fault}: {done.figures}; {recovery}; {done.verdict}"
    return "\n".join([head, *(f"    {each.check}: {each.message}" for each in done.findings)])


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _show(rounds: Sequence[Round]) -> None:
    print(f"{'ROUND':<7}{'SEED':<10}{'FAULT':<26}{'RECOVERY':<10}VERDICT")
    for each in rounds:
        recovery = "-" if each.recovery is None else f"{each.recovery:.1f} s"
        print(f"{each.number:<7}{each.seed:<10}{each.fault:<26}{recovery:<10}{each.verdict}")
    print(f"{len(rounds)} rounds, {sum(not each.holds for each in rounds)} broken; checked: {', '.join(CheckKind)}")


if __name__ == "__main__":
    sys.exit(main())
