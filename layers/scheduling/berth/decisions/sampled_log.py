"""One decision of a hundred as a line of the log. The others cost an addition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from berth.extender.decision import AnyDecision, Decision, DecisionRecorder
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

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        if next(self._count) % self._one_of:
            return
        # Imported here: a cold start must not wait for it.
        from berth.decisions.call_record import CallRecord
        from berth.decisions.document import call_document, document
        from berth.decisions.record import Record

        now = self._wall()
        if isinstance(decision, Decision):
            record = Record.of(verb, outcome, decision, now, milliseconds)
            self._write(document(record, decision.nodes.names))
        else:
            self._write(call_document(CallRecord.of(verb, outcome, decision, now, milliseconds)))
