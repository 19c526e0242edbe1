"""A second policy that judges a sample of the live decisions, and answers none of them.

A call hands on references and goes on. A thread judges the pod by both policies on the state of the call. What waits is
bounded; a decision for which there is no room is not judged, and counted.

The thread shares the interpreter's lock with the calls. It looks for decisions from time to time, and no call wakes it:
the answer of the judged call goes first. A call that comes while it computes gets the lock after SWITCH_SECONDS each
time that it needs it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from threading import Event, Lock, Thread

import orjson

from berth.extender.deadline import Deadline
from berth.extender.decision import AnyDecision, Decision, DecisionRecorder
from berth.extender.outcomes import Outcome
from berth.runtime.http.answers import HTTPAnswer, http_answer
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPEvent
from berth.scheduling.policy import Policy
from berth.scheduling.reason_code import REASON_CODES_VERSION
from berth_cli.policy.diff.from_recording import FILTERS, judge
from berth_cli.serve.endpoints.prometheus import counter
from berth_cli.simulate.comparison import rules_document
from berth_cli.simulate.run import Rule, rules_of

ROUTE = "GET /shadow"
ONE_OF = 10
"""The first decision, and every tenth after it."""

MOST_WAITING = 20
MOST_KEPT = 100
"""Of the decisions in which the policies differ."""

PAUSE_SECONDS = 0.05
"""Between two looks at what waits."""

SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter's lock while others want it: a tenth of Python's own interval. A call over
HTTP takes the lock a few times."""

DECISIONS = "berth_shadow_decisions_total"


class ShadowResult(StrEnum):
    """What the second policy does to the pod. FAILED: it raised. NOT_JUDGED: too many others waited."""

    SAME = "same"
    OTHER_NODE = "other-node"
    NEWLY_PENDING = "newly-pending"
    NEWLY_PLACED = "newly-placed"
    FAILED = "failed"
    NOT_JUDGED = "not-judged"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """at: seconds since the epoch. before, after: the nodes; empty for none. rules: what rejects the nodes now."""

    at: float
    namespace: str
    name: str
    result: ShadowResult
    before: str
    after: str
    rules: tuple[Rule, ...]


class ShadowPolicy(DecisionRecorder):
    """Safe to share between threads. Its thread ends with the process."""

    def __init__(
        self,
        policy: Policy,
        load_all_parts: Callable[[], None],
        wall: Callable[[], float] = time.time,
        one_of: int = ONE_OF,
    ) -> None:
        """load_all_parts: the snapshots of later calls then have what this policy may read. wall: seconds since the
        epoch."""
        self._policy, self._load_all_parts, self._wall, self._one_of = policy, load_all_parts, wall, one_of
        self._count, self._lock = count(), Lock()
        self._waiting: deque[tuple[float, Decision]] = deque()
        self._closing = Event()
        self._results: Counter[ShadowResult] = Counter()
        self._kept: deque[Disagreement] = deque(maxlen=MOST_KEPT)
        self._thread = Thread(target=self._run, name="shadow", daemon=True)
        self._thread.start()

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        if verb not in FILTERS or not isinstance(decision, Decision) or not decision.cache.version:
            return
        if next(self._count) % self._one_of:
            return
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append((self._wall(), decision))
        else:
            self._note(ShadowResult.NOT_JUDGED)

    def close(self) -> None:
        """Judge what waits, and end the thread."""
        self._closing.set()
        self._thread.join()

    def lines(self) -> Iterator[str]:
        """The counter for Prometheus."""
        with self._lock:
            found = [({"result": str(result)}, number) for result, number in sorted(self._results.items())]
        yield from counter(DECISIONS, "Decisions that a second policy judged, by what it does to the pod.", found)

    def document(self) -> dict[str, object]:
        """The counts, and the last disagreements, the oldest first."""
        with self._lock:
            kept, results = list(self._kept), dict(self._results)
        return {
            "reasonCodesVersion": REASON_CODES_VERSION,
            "decisions": {str(result): number for result, number in results.items()},
            "disagreements": [
                {
                    "time": round(each.at, 3),
                    "namespace": each.namespace,
                    "name": each.name,
                    "result": each.result,
                    "before": each.before or None,
                    "after": each.after or None,
                    "rules": rules_document(each.rules),
                }
                for each in kept
            ],
        }

    def _run(self) -> None:
        is_open, is_first = True, True
        while is_open:
            is_open = not self._closing.wait(PAUSE_SECONDS)
            while self._waiting:
                found = self._waiting.popleft()
                if is_first:
                    # This call's snapshot may lack what the policy reads; those of later calls have it.
                    is_first = False
                    self._load_all_parts()
                else:
                    self._judge(*found)

    def _note(self, result: ShadowResult) -> None:
        with self._lock:
            self._results[result] += 1

    def _judge(self, at: float, decision: Decision) -> None:
        pod, names, snapshot = decision.pod, decision.nodes.names, decision.snapshot
        gangs = decision.open_gangs
        try:
            before = judge(decision.policy, pod, names, snapshot, open_gangs=gangs)
            after = judge(self._policy, pod, names, snapshot, before.node, gangs)
        except Exception:
            # A plugin of the user's own may raise anything.
            self._note(ShadowResult.FAILED)
            return
        result = _result(before.node, after.node)
        self._note(result)
        if result is not ShadowResult.SAME:
            rules = () if after.node else rules_of(after.rejected)
            found = Disagreement(at, pod.namespace, pod.name, result, before.node, after.node, rules)
            with self._lock:
                self._kept.append(found)


def _result(before: str, after: str) -> ShadowResult:
    if before == after:
        return ShadowResult.SAME
    if not after:
        return ShadowResult.NEWLY_PENDING
    return ShadowResult.OTHER_NODE if before else ShadowResult.NEWLY_PLACED


class ShadowOutcome(StrEnum):
    """For the log."""

    OK = "ok"


class ShadowEndpoint(Endpoint):
    """GET /shadow of `berth serve --shadow`."""

    def __init__(self, settings: EndpointSettings, shadow: ShadowPolicy) -> None:
        super().__init__("shadow", settings)
        self._shadow = shadow

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        self._log_ended(ShadowOutcome.OK, "", caller, started, failed=False)
        return http_answer(200, orjson.dumps(self._shadow.document()))
