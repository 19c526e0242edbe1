"""Recorders of decisions for the functions of this process; the configuration in force selects one."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cache, partial
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

import orjson

from berth.extender.outcomes import Outcome
from berth.extender.ports import UNREAD_CACHE
from berth.extender.reply import AnyDecision, Decision, DecisionRecorder
from berth.runtime.environment import set_until_end
from berth.runtime.telemetry.telemetry import SERVICE
from berth.scheduling.configuration.document import Decisions

if TYPE_CHECKING:
    from berth.runtime.tables import OpenTables

ONE_OF = 100


class SampledLog(DecisionRecorder):
    """Logs the second decision of an environment, and then every hundredth. The first decision belongs to a cold start,
    which must not wait for imports."""

    def __init__(
        self,
        write: Callable[[dict[str, object]], None],
        wall: Callable[[], float],
        one_of: int = ONE_OF,
        is_written: Callable[[], bool] = lambda: True,
    ) -> None:
        """Create the log. write: logs a document. wall: returns the seconds since the epoch. is_written: returns
        whether the log level is enabled."""
        self._write, self._wall, self._one_of, self._is_written = write, wall, one_of, is_written
        self._count = count(one_of - 1)

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        if next(self._count) % self._one_of or not self._is_written():
            return
        # Imported here: a cold start must not wait for it.
        from berth.decisions.document import call_document, document
        from berth.decisions.record import CallRecord, Record

        now = self._wall()
        if isinstance(decision, Decision):
            record = Record.of(verb, outcome, decision, now, milliseconds)
            self._write(document(record, decision.nodes.names))
        else:
            self._write(call_document(CallRecord.of(verb, outcome, decision, now, milliseconds)))


log = logging.getLogger(SERVICE)

_own: ContextVar[tuple[Mapping[Decisions, DecisionRecorder], Sequence[DecisionRecorder]]] = ContextVar(
    "recorders", default=(MappingProxyType({}), ())
)


class RecorderByConfiguration(DecisionRecorder):
    """Records each decision with the recorder that the configuration in force names; a change takes effect at once."""

    def __init__(
        self,
        recorders: Mapping[Decisions, DecisionRecorder],
        default: Decisions,
        further: Sequence[DecisionRecorder] = (),
    ) -> None:
        """Create the recorder. recorders: the available recorders; decisions for others are dropped. default: used
        if a configuration does not name a recorder. further: recorders of every decision."""
        self._recorders, self._default, self._further = recorders, default, further
        self._last = default

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        for each in self._further:
            each.record(verb, outcome, decision, milliseconds)
        # A call that did not read the cache does not know the configuration: use the configuration of the previous
        # call.
        if decision.cache is not UNREAD_CACHE:
            self._last = decision.cache.decisions or self._default
        recorder = self._recorders.get(self._last)
        if recorder is not None:
            recorder.record(verb, outcome, decision, milliseconds)


def decisions_recorded_by(
    recorders: Mapping[Decisions, DecisionRecorder], further: Sequence[DecisionRecorder] = ()
) -> AbstractContextManager[None]:
    """Give these recorders to functions that are loaded until the block ends. If MEMORY is one of them, MEMORY is
    the default for a configuration that does not name a recorder. further: recorders of every decision."""
    return set_until_end(_own, (recorders, further))


def decision_recorder() -> DecisionRecorder:
    """Return the recorder of one verb. If the process does not keep decisions in memory, the default is the log."""
    # Imported here: the authorizer does not have tables.
    from berth.runtime.tables import table_opener

    own, further = _own.get()
    # Copy this function's variables: in `berth serve` another function may change the environment.
    variables = {name: value for name, value in os.environ.items() if name.startswith("BERTH_")}
    recorders: dict[Decisions, DecisionRecorder] = {
        Decisions.LOG: SampledLog(_write, time.time, is_written=partial(log.isEnabledFor, logging.INFO)),
        Decisions.TABLE: _OpenedRecorder(partial(_table_recorder, table_opener(), variables)),
        **own,
    }
    default = Decisions.MEMORY if Decisions.MEMORY in own else Decisions.LOG
    return RecorderByConfiguration(recorders, default, further)


class _OpenedRecorder(DecisionRecorder):
    """Opens the recorder at its first decision: a cold start must not wait for its imports. opened: may return None."""

    def __init__(self, opened: Callable[[], DecisionRecorder | None]) -> None:
        self._opened = cache(opened)

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        recorder = self._opened()
        if recorder is not None:
            recorder.record(verb, outcome, decision, milliseconds)


def _table_recorder(open_tables: OpenTables, variables: Mapping[str, str]) -> DecisionRecorder | None:
    from botocore.config import Config

    from berth.decisions.recorders import BackgroundRecorder
    from berth.runtime.settings import PolicySettings

    # Do not retry: a lost record does no harm.
    calls = Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1})
    decisions = open_tables(PolicySettings.from_environ(variables), calls).decisions
    if decisions is None:
        return None
    return BackgroundRecorder(decisions().put, time.time, lambda cause: log.warning(cause or "decisions are recorded"))


def _write(document: dict[str, object]) -> None:
    line = {"level": "INFO", "message": "decision", "service": SERVICE, **document}
    print(orjson.dumps(line).decode())
