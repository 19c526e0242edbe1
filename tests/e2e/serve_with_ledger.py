"""`python -m tests.e2e.serve_with_ledger FILE serve …`: the berth command, and in FILE what its embedded ledger has.

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

import boto3

from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.entry import NodeLedger
from berth_cli.main import main
from berth_cli.serve import local_stack
from berth_cli.serve.embedded_dynamodb import LEDGER_TABLE, EmbeddedDynamoDB

EVERY_SECONDS = 0.25


def ledger_document(ledgers: list[NodeLedger]) -> dict[str, Any]:
    """What the tests ask of a ledger, by node."""
    return {
        ledger.node: {
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
    """By node, as `ledger_document` has it; empty while nothing is written."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def _write(file: Path) -> None:
    while True:
        time.sleep(EVERY_SECONDS)
        found = DynamoDBLedgerTable(boto3.client("dynamodb"), LEDGER_TABLE).nodes()
        part = file.with_suffix(".part")
        part.write_text(json.dumps(ledger_document(list(found))))
        os.replace(part, file)


class _Watched(EmbeddedDynamoDB):
    """Written from the moment when there is a table: before, boto3 would call another endpoint."""

    def install(self) -> bool:
        is_new = super().install()
        Thread(target=_write, args=(FILE,), daemon=True).start()
        return is_new


if __name__ == "__main__":
    FILE = Path(sys.argv.pop(1))
    local_stack.EmbeddedDynamoDB = _Watched  # type: ignore[attr-defined]
    main()
