"""`python -m tests.e2e.berth.serve_with_ledger FILE serve …`: the berth command, which writes its ledger to FILE.

The table is in the memory of that process, so no other process can read it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

from berth.ledger.nodes.entry import NodeLedger
from berth.ledger.nodes.table import LedgerTable
from berth_cli.main import main
from berth_cli.server import local_stack
from berth_cli.server.store.embedded_store import EmbeddedStore

EVERY_SECONDS = 0.25


def ledger_document(ledgers: list[NodeLedger]) -> dict[str, Any]:
    """Return the ledger's fields that the tests check, by node."""
    return {
        ledger.owner: {
            "capacity": dict(ledger.capacity),
            "avail": dict(ledger.avail or {}),
            "owed": dict(ledger.owed),
            "entries": {
                f"{entry.pod.namespace}/{entry.pod.name}": {"state": entry.state, "shares": dict(entry.shares)}
                for entry in ledger.entries.values()
            },
        }
        for ledger in ledgers
    }


def ledger_in(file: Path) -> dict[str, Any]:
    """Read the ledger from the file, in the format of `ledger_document`; empty if the file does not exist yet."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _write(file: Path, table: LedgerTable) -> None:
    while True:
        time.sleep(EVERY_SECONDS)
        found = table.nodes()
        part = file.with_suffix(".part")
        part.write_text(json.dumps(ledger_document(list(found))))
        os.replace(part, file)


class _Watched(EmbeddedStore):
    """An embedded store whose ledger is written to the file as soon as it exists."""

    def __init__(self) -> None:
        super().__init__()
        Thread(target=_write, args=(FILE, self.ledger), daemon=True).start()


if __name__ == "__main__":
    FILE = Path(sys.argv.pop(1))
    local_stack.EmbeddedStore = _Watched  # type: ignore[attr-defined]
    main()
