"""One decision of a hundred as a line of the log. The others cost an addition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from berth.extender.decision import Decision, DecisionRecorder
from berth.extender.outcomes import Outcome

ONE_OF = 100


class SampledLog(DecisionRecorder):
    """The first decision of an environment, and every hundredth after it."""

    def __init__(
        self, write: Callable[[dict[str, object]], None], wall: Callable[[], float], one_of: int = ONE_OF
    ) -> None:
        """write: gets the document of a record. wall: seconds since the epoch."""
        self._write, self._wall, self._one_of = write, wall, one_of
        self._count = count()

    def record(self, verb: str, outcome: Outcome, decision: Decision, milliseconds: float) -> None:
        if next(self._count) % self._one_of:
            return
        # Imported here: a cold start must not wait for it.
        from berth.decisions.document import document
        from berth.decisions.record import Record

        record = Record.of(verb, outcome, decision, self._wall(), milliseconds)
        self._write(document(record, decision.nodes.names))
