"""The decisions of a deployed stack, from the records in its cache table. The list may be incomplete. Functions record
only some calls, and the table stores the records by pod. Each read queries, in turn, only some of the waiting pods and
of the pods that started last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from heapq import nlargest, nsmallest
from itertools import count
from math import inf
from threading import Lock
from typing import Any

from berth.decisions.document import VERSION
from berth.decisions.recorders import DynamoDBDecisionTable
from berth.dynamodb import TableUnavailable
from berth.scheduling.configuration.document import Decisions
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.cluster import NotRead, ObservedCluster
from berth_cli.console.decisions import Decision, DecisionSource, is_of_pod, named_decision

LOOK_SECONDS = 1.0
"""The minimum interval of reads in seconds. More frequent requests get the last result."""

MAX_QUERIES = 20
"""The maximum number of queries per read, because each one reads the table."""

QUERIES_AT_ONCE = 8
STARTED_PODS = 100
"""The number of pods on nodes to query: first pods that have not started, then the pods that started last."""

MAX_OF_A_POD = 20
"""The maximum number of records per pod: a waiting pod has one for each attempt of the last week."""

MAX_KEPT = 1000

PodName = tuple[str, str]
"""Namespace and name."""


class StackDecisions(DecisionSource):
    """Reads decisions of a stack, a few pods at a time."""

    def __init__(
        self,
        where: str,
        table: DynamoDBDecisionTable,
        observed: Callable[[], ObservedCluster | None],
        monotonic: Callable[[], float],
    ) -> None:
        """Begin without decisions. `where`: the stack's name in messages. `observed`: returns the last read of its node
        cache. `monotonic`: returns seconds."""
        self._where, self._table, self._observed, self._monotonic = where, table, observed, monotonic
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(QUERIES_AT_ONCE, thread_name_prefix="console-decisions")
        self._numbers = count(1)
        self._kept: dict[tuple[object, ...], Decision] = {}
        self._looks = count(1)
        self._asked: dict[PodName, int] = {}  # by pod, the number of the read that queried it last
        self._looked_at = -inf
        self._problem: NotRead | None = None

    def all(self) -> Sequence[Decision] | NotRead:
        with self._lock:
            if self._monotonic() - self._looked_at >= LOOK_SECONDS:
                self._looked_at = self._monotonic()
                self._problem = self._look()
            return self._problem or self._known()

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, Any]]:
        with self._lock:
            return [each.record for each in self._known() if is_of_pod(each.record, namespace, name)]

    def _known(self) -> list[Decision]:
        return sorted(self._kept.values(), key=lambda each: each.record["time"])

    def _look(self) -> NotRead | None:
        observed = self._observed()
        if observed is None:
            return NotRead(f"{self._where}: its node cache was not read yet")
        kept_in = observed.configured.document.decisions or Decisions.LOG
        if kept_in is not Decisions.TABLE:
            return NotRead(
                f"{self._where} keeps no decisions in its table: decisions is {kept_in}; apply decisions: table"
            )
        try:
            answers = list(self._threads.map(self._records, self._due(observed.snapshot)))
        except TableUnavailable as error:
            return NotRead(str(error))
        records = [record for answer in answers for record in answer]
        if any(each["version"] > VERSION for each in records):
            return NotRead(f"{self._where} has records of a later release: install it here, too")
        for record in sorted(records, key=lambda each: each["time"]):
            key = tuple(record[name] for name in ("time", "verb", "namespace", "name", "uid", "milliseconds"))
            if key not in self._kept:
                self._kept[key] = named_decision(next(self._numbers), record)
        self._kept = dict(list(self._kept.items())[-MAX_KEPT:])
        return None

    def _due(self, snapshot: Snapshot) -> list[PodName]:
        """Return the next pods to query: the least recently queried pods."""
        placed = (pod for node in snapshot.nodes.values() for pod in node.pods)
        started = nlargest(STARTED_PODS, placed, key=lambda pod: inf if pod.start_time is None else pod.start_time)
        names = [(pod.namespace, pod.name) for pod in (*snapshot.unbound.values(), *started)]
        self._asked = {name: self._asked.get(name, 0) for name in names}
        due = nsmallest(MAX_QUERIES, self._asked, key=self._asked.__getitem__)
        self._asked |= dict.fromkeys(due, next(self._looks))
        return due

    def _records(self, pod: PodName) -> list[dict[str, Any]]:
        return [each for each in self._table.of_pod(*pod, MAX_OF_A_POD) if isinstance(each, dict)]
