"""Berth with a view of its ledger: `berth serve`, and the deployed stack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, Self

from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.scheduler_configuration import HTTP_TIMEOUT_SECONDS

from .identities import counted_resources, identities, serve
from .serve_with_ledger import ledger_document, ledger_in
from .stack import DeployedStack


class WithLedger(Protocol):
    @property
    def url_prefix(self) -> str: ...

    def ledger(self) -> dict[str, Any]:
        """Return the ledgers by node, in the format of `ledger_document`."""


class ServeWithLedger:
    """`berth serve`, which writes its embedded ledger to a file."""

    def __init__(self, control_plane: ControlPlane, directory: Path, document: str) -> None:
        self._file = directory / "ledger.json"
        self._berth = serve(
            control_plane,
            directory,
            document=document,
            command=(sys.executable, "-m", "tests.e2e.berth.serve_with_ledger", self._file),
        )

    def __enter__(self) -> Self:
        self._berth.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._berth.stop()

    @property
    def url_prefix(self) -> str:
        return self._berth.url_prefix

    def ledger(self) -> dict[str, Any]:
        return ledger_in(self._file)


class StackWithLedger:
    """The deployed stack. Its table is empty at first: the watcher creates the ledgers before the first reservation."""

    def __init__(self, control_plane: ControlPlane, directory: Path, document: str, http_timeout: int) -> None:
        parameters = {"HttpTimeoutSeconds": str(http_timeout)}
        self.stack = DeployedStack(identities(control_plane), directory, parameters)
        self._document = document
        self._log = directory / "watcher.log"

    def __enter__(self) -> Self:
        self.stack.__enter__()
        self.stack.apply(self._document)
        return self

    def __exit__(self, *_: object) -> None:
        self._save_watcher_log()
        self.stack.__exit__()

    def _save_watcher_log(self) -> None:
        """Save the watcher's log with the other logs: the emulated account ends with the test."""
        logs = self.stack.client("logs")
        events = logs.filter_log_events(logGroupName=self.stack.name("FunctionLogGroup"))["events"]
        self._log.write_text("".join(f"{event['message'].rstrip()}\n" for event in events))

    @property
    def url_prefix(self) -> str:
        return self.stack.url_prefix

    def ledger(self) -> dict[str, Any]:
        table = DynamoDBLedgerTable(self.stack.client("dynamodb"), self.stack.name("LedgerTable"))
        return ledger_document(list(table.nodes()))


@contextmanager
def counting(
    where: str, control_plane: ControlPlane, directory: Path, document: str, http_timeout: int = HTTP_TIMEOUT_SECONDS
) -> Iterator[ServeWithLedger | StackWithLedger]:
    """Run Berth with the rights for counted resources. where: `serve` or `stack`. http_timeout: the stack's, in s."""
    started: AbstractContextManager[ServeWithLedger | StackWithLedger] = (
        StackWithLedger(control_plane, directory, document, http_timeout)
        if where == "stack"
        else ServeWithLedger(control_plane, directory, document)
    )
    with counted_resources(control_plane), started as berth:
        yield berth
