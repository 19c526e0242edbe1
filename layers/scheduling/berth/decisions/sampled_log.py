"""One decision of a hundred as a line of the log. The others cost an addition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from berth.extender.decision import AnyDecision, Decision, DecisionRecorder
from berth.extender.outcomes import Outcome

ONE_OF = 100


class SampledLog(DecisionRecorder):
    """The second decision of an environment, and every hundredth after it. The first one is the cold start: nobody
    waits there for imports."""

    def __init__(
        self,
        write: Callable[[dict[str, object]], None],
        wall: Callable[[], float],
        one_of: int = ONE_OF,
        is_written: Callable[[], bool] = lambda: True,
    ) -> None:
        """write: gets the document of a record. wall: seconds since the epoch. is_written: whether the log takes it."""
        self._write, self._wall, self._one_of, self._is_written = write, wall, one_of, is_written
        self._count = count(one_of - 1)

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        if next(self._count) % self._one_of or not self._is_written():
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
