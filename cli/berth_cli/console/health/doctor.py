"""`/api/doctor`: the checks of `berth doctor`, run when a person asks for them.

They call the verbs for a pod that does not exist, and the cluster with dry runs, so the page never runs them by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import orjson

from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.doctor.findings import Finding, document, summary

DOCTOR = "/api/doctor"
KEPT_SECONDS = 10.0
"""Pages that ask at the same time get one answer."""

Checks = Callable[[], Sequence[Finding]]


class DoctorDocuments:
    """One run at a time."""

    def __init__(self, checks: Checks, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._checks, self._monotonic = checks, monotonic
        self._lock = Lock()
        self._last: tuple[float, bytes] | None = None

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {DOCTOR: self.doctor}

    def doctor(self, _: Query) -> bytes | Refusal:
        """What `berth doctor -o json` prints, and its last line."""
        with self._lock:
            if self._last is None or self._monotonic() - self._last[0] >= KEPT_SECONDS:
                findings = self._checks()
                content = orjson.dumps({**document(findings), "line": summary(findings)})
                self._last = self._monotonic(), content
            return self._last[1]


def no_doctor(_: Query) -> Refusal:
    """For a console of a dump, or beside a server whose callers need certificates."""
    return Refusal(404, Outcome.UNKNOWN_PATH, "this console cannot run the checks; run berth doctor on a terminal")
