"""The leader's part in the Lease of the ledger, in a thread: a call to the API server delays no publication."""

from __future__ import annotations

from threading import Event, Thread

from berth.ledger_holder.holder import LedgerHolder
from berth.runtime.adapters import log
from berth.runtime.watcher.background_reconciler import PAUSE_SECONDS, STOP_SECONDS


class BackgroundHolder:
    """Starts with the first publication of a leadership and ends with it. It keeps the Lease for its store."""

    def __init__(self, holder: LedgerHolder) -> None:
        self._holder = holder
        self._is_closed = Event()
        self._thread: Thread | None = None

    def published(self) -> None:
        """Call it after every publication."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="ledger-holder", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread after the running call."""
        self._is_closed.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        seconds = 0.0
        while not self._is_closed.wait(seconds):
            try:
                seconds = self._holder.step()
            except Exception:
                log.exception("the Lease of the ledger was not renewed; the next attempt is in %g s", PAUSE_SECONDS)
                seconds = PAUSE_SECONDS
