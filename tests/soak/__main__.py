"""`python -m tests.soak [--binds N] [--workers N] [--nodes N] [--seed N] [--on EMULATOR]`: binds, some cut short."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.deployment.dynamodb_local import DynamoDBLocal, missing
from tests.deployment.emulator import COMMAND, Emulator
from tests.soak.binds import MOST_UNSEEN, Soak
from tests.soak.checked import CheckedLedgerTable
from tests.unit.ledger.nodes.ledger_tables import emulator_client, new_table


def main() -> int:
    """Exit status 1 where something does not hold, with what it was."""
    parser = argparse.ArgumentParser(prog="make soak", description="Concurrent binds of counted resources.")
    parser.add_argument("--binds", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--nodes", type=int, help="by default 16, and fewer in a run of less than 800 binds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unseen", type=int, default=MOST_UNSEEN, help="pods that the watcher may lag behind")
    parser.add_argument("--on", choices=("ministack", "dynamodb-local"), default="ministack", help="the emulator")
    chosen = parser.parse_args()
    # The emulator is ended either way.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    on_ministack = chosen.on == "ministack"
    lacking = missing() if not on_ministack else "" if COMMAND.exists() else "ministack is not installed: make tools"
    if lacking:
        print(lacking, file=sys.stderr)
        return 1
    start = Emulator if on_ministack else DynamoDBLocal
    with tempfile.TemporaryDirectory() as directory, start(Path(directory)) as emulator:
        client = emulator_client(emulator.endpoint_url, connections=chosen.workers + 3)
        table = CheckedLedgerTable(client, new_table(client))
        soak = Soak(
            table,
            binds=chosen.binds,
            workers=chosen.workers,
            nodes=chosen.nodes,
            seed=chosen.seed,
            most_unseen=chosen.unseen,
        )
        started = time.monotonic()
        try:
            soak.run()
        except AssertionError as broken:
            print(f"broken: {broken}")
            return 1
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130
        seconds = time.monotonic() - started
    attempts = sum(soak.tally.outcomes.values())
    print(
        f"{attempts} binds by {chosen.workers} workers in {seconds:.0f} s: {dict(soak.tally.outcomes.most_common())}; "
        f"{table.versions} versions of {len(soak._nodes)} ledgers were committed, {table.refused} writes refused; "
        f"{soak.pods.bound} Bindings, {soak.tally.edits} edits by owners, {soak.tally.foreign} pods with a node of "
        f"their creator's, {soak.tally.leaders} leaders; nothing was given twice, nothing was lost"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
