"""`/api/shadow`: what the second policy of `berth serve --shadow` does to the pods of live decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Document, Query

SHADOW = "/api/shadow"

Shadow = Callable[[], Mapping[str, object] | NotRead]
"""What GET /shadow answers."""

NO_SHADOW = "no policy judges live decisions here; start berth serve with --shadow FILE"


class ShadowDocuments:
    """`shadow`: None where no verbs are known, or no second policy judges them."""

    def __init__(self, shadow: Shadow | None) -> None:
        self._shadow = shadow

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {SHADOW: self.shadow}

    def shadow(self, _: Query) -> bytes | Refusal:
        """The counts by result, and the last disagreements, the oldest first."""
        if self._shadow is None:
            return Refusal(404, Outcome.UNKNOWN_PATH, NO_SHADOW)
        found = self._shadow()
        if isinstance(found, NotRead):
            status, outcome = (404, Outcome.UNKNOWN_PATH) if found.reason == NO_SHADOW else (503, Outcome.NOT_READY)
            return Refusal(status, outcome, found.reason)
        return orjson.dumps(found)
