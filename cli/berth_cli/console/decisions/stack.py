"""The decisions of a deployed stack, by the records in its cache table.

Not guaranteed: that all are shown. A function records so many a second, and a look asks for so many pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pydantic import ValidationError

from berth.decisions.dynamodb_table import DynamoDBDecisionTable, StoredDecision
from berth.dynamodb_errors import TableUnavailable
from berth.scheduling.configuration.decisions import Decisions
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.decisions.document import DecisionDocument
from berth_cli.console.decisions.node_lists import NodeLists, read_verdicts
from berth_cli.console.decisions.pod_rotation import PodName, PodRotation
from berth_cli.console.decisions.polled import PolledDecisions, ReadDecision
from berth_cli.console.documents.not_read import NotRead
from berth_cli.recording.stack_recording import keeps_no_decisions

MOST_QUERIES = 20
"""With a look: each is a read of the table."""

FIRST_QUERIES = 200
QUERIES_AT_ONCE = 8

MOST_OF_A_POD = 20
"""Of the records that a pod has at first, the newest: a pod that waits has one for each attempt of a week."""

LATE_SECONDS = 60.0
"""A record may be written so much later than one with a later time: a function writes in the background."""

SAMPLING = (
    "the calls in the stack's table: of each verb and environment at most 10 a second that left the pod a node, and 10 "
    "that did not"
)


class StackDecisions(PolledDecisions):
    """A look queries the pods that wait, and those that have got a node, a few at a time."""

    def __init__(
        self,
        where: str,
        table: DynamoDBDecisionTable,
        observed: Callable[[], ObservedCluster | None],
        monotonic: Callable[[], float],
    ) -> None:
        """`where`: how the stack is called in messages. `observed`: what was read last of its node cache.
        `monotonic`: seconds."""
        super().__init__(monotonic)
        self._where, self._table, self._observed = where, table, observed
        self._rotation, self._nodes = PodRotation(), NodeLists()
        self._is_first = True
        self._threads = ThreadPoolExecutor(QUERIES_AT_ONCE, thread_name_prefix="console-decisions")

    @property
    def sampling(self) -> str:
        return SAMPLING

    def _read(self, now: float) -> Iterable[ReadDecision] | NotRead:
        observed = self._observed()
        if observed is None:
            return NotRead(f"{self._where}: its node cache was not read yet")
        configuration = observed.configured.document
        if configuration.decisions is not Decisions.TABLE:
            return NotRead(keeps_no_decisions(self._where, configuration))
        self._nodes.note(observed.snapshot)
        most, self._is_first = (FIRST_QUERIES if self._is_first else MOST_QUERIES), False
        pods, known = self._rotation.due(observed.snapshot, now, most), self._last_times()
        try:
            answers = self._threads.map(lambda pod: self._of_pod(pod, known.get(pod)), pods)
            return [each for answer in answers for each in answer]
        except TableUnavailable as error:
            return NotRead(str(error))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            return NotRead(f"{self._where} has a record that cannot be read here: {where}: {first['msg']}")

    def _last_times(self) -> Mapping[PodName, float]:
        """Of the last record of each pod."""
        # The last one of a name stays.
        return {(each.record.namespace, each.record.name): each.record.time for each in self._kept.values()}

    def _of_pod(self, pod: PodName, last: float | None) -> list[ReadDecision]:
        """Raises TableUnavailable and ValidationError."""
        if last is None:
            return list(map(self._read_decision, self._table.newest(*pod, MOST_OF_A_POD)))
        return list(map(self._read_decision, self._table.since(*pod, last - LATE_SECONDS)))

    def _read_decision(self, stored: StoredDecision) -> ReadDecision:
        """What is kept is not decoded again: a look reads the last minute of a pod anew."""
        record = DecisionDocument.model_validate(stored.record)
        known = self._kept.get(record.key)
        if known is not None:
            return known
        return ReadDecision(record, None if stored.repeatable is None else read_verdicts(stored.repeatable))

    def of_node(self, node: str) -> Sequence[int]:
        with self._lock:
            known = self._numbers.after(0)
            return [number for number, each in known if each.verdicts and self._nodes.judges(node, each.verdicts)]

    def _details_of(self, decision: ReadDecision) -> Mapping[str, object]:
        found = super()._details_of(decision)
        verdicts = None
        if decision.verdicts is not None:
            verdicts = self._nodes.verdicts(decision.record.verb, decision.verdicts)
        return found if verdicts is None else {**found, **verdicts}
