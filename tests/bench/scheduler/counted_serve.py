"""`python -m tests.bench.scheduler.counted_serve FILE serve …`: the berth command, and in FILE what its ledger does.

A conflict is a conditional write of the ledger whose condition was not met.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.node_write import NodeWrite
from berth.reservations.ledger.table import LedgerTable, NotWritten, Written
from berth_cli.main import main

EVERY_SECONDS = 0.25


class Counts:
    """The writes of this process. The threads of the verbs append to a list, which needs no lock."""

    def __init__(self) -> None:
        self._written: list[bool] = []
        self._tables: list[LedgerTable] = []

    def of(self, table: Any) -> None:
        """Count the writes to this table from now on."""
        if any(table is each for each in self._tables):
            return
        self._tables.append(table)
        write = table.write

        def counted(node: str, change: NodeWrite) -> Written | NotWritten:
            result: Written | NotWritten = write(node, change)
            self._written.append(isinstance(result, Written))
            return result

        table.write = counted

    def document(self) -> dict[str, int]:
        """What the benchmark reads. ledgers: of nodes on which bind can reserve."""
        ledgers = [each for table in self._tables[:1] for each in table.nodes() if each.avail is not None]
        return {"writes": len(self._written), "conflicts": self._written.count(False), "ledgers": len(ledgers)}


def _count_every_ledger(counts: Counts) -> None:
    begin = Ledger.__init__

    def begin_counted(ledger: Ledger, table: LedgerTable) -> None:
        begin(ledger, table)
        counts.of(table)

    Ledger.__init__ = begin_counted  # type: ignore[method-assign, assignment]


def _write(counts: Counts, file: Path) -> None:
    while True:
        time.sleep(EVERY_SECONDS)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(counts.document()))
        os.replace(part, file)


if __name__ == "__main__":
    COUNTS = Counts()
    _count_every_ledger(COUNTS)
    Thread(target=_write, args=(COUNTS, Path(sys.argv.pop(1))), daemon=True).start()
    main()
