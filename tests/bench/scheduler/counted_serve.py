"""`python -m tests.bench.scheduler.counted_serve FILE serve …`: the berth command, and in FILE its conditional writes.

These are the writes of the ledger, and the announcements of bind. A conflict is one whose condition was not met.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

from berth.ledger.announcements import Announcement
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import NotWritten, Written
from berth_cli.main import main
from berth_cli.server import local_stack
from berth_cli.server.store.embedded_store import EmbeddedStore

EVERY_SECONDS = 0.25


class CountingStore(EmbeddedStore):
    """Counts the writes of bind and of the watcher. Their threads append to a list, which needs no lock. Counted
    resources need no announcement, and rules about pods no reservation."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bool] = []
        ledger: Any = self.ledger
        self._write = ledger.write
        ledger.write = self._counted
        log: Any = self._tables.announcements
        self._append = log.append
        log.append = self._announced
        Thread(target=self._report, args=(FILE,), daemon=True).start()

    def _counted(self, node: str, change: NodeWrite) -> Written | NotWritten:
        result: Written | NotWritten = self._write(node, change)
        self._written.append(isinstance(result, Written))
        return result

    def _announced(self, announcement: Announcement) -> bool:
        is_free: bool = self._append(announcement)
        self._written.append(is_free)
        return is_free

    def _report(self, file: Path) -> None:
        """ledgers: of nodes on which bind can reserve."""
        while True:
            time.sleep(EVERY_SECONDS)
            ledgers = sum(each.avail is not None for each in self.ledger.nodes())
            counts = {"writes": len(self._written), "conflicts": self._written.count(False), "ledgers": ledgers}
            part = file.with_suffix(".part")
            part.write_text(json.dumps(counts))
            os.replace(part, file)


if __name__ == "__main__":
    FILE = Path(sys.argv.pop(1))
    local_stack.EmbeddedStore = CountingStore  # type: ignore[attr-defined]
    main()
