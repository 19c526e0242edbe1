"""What is measured of a verb: a first call, calls one after another, and a burst of calls at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

import orjson

from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse, NoResponse

OK_STATUS = 200
REFUSED_STATUSES = (401, 403)
THROTTLED_STATUSES = (429, 503)
"""API Gateway answers 429 above its own limits, and 503 where Lambda throttles."""


class Verb(StrEnum):
    """The verbs that can be measured. No call changes anything: see `body`."""

    FILTER = "filter"
    FILTER_ONLYONE = "filter_onlyone"
    PRIORITIZE = "prioritize"
    BIND = "bind"
    PREEMPT = "preempt"


class CallOutcome(StrEnum):
    """How one call ended."""

    ANSWERED = "answered"
    ERROR = "error"
    """The answer's `Error` is set: kube-scheduler takes the call for failed."""
    REFUSED = "refused"
    THROTTLED = "throttled"
    FAILED = "failed"
    """Another status, or an answer that is not JSON."""
    NO_ANSWER = "no answer"


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `seconds`: until the last byte; None without an answer. `detail`: the error, empty if none."""

    outcome: CallOutcome
    seconds: float | None
    answer_bytes: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`warm_calls`: one after another. `burst_calls`: at once; 0: no burst. `node_names`: in each request."""

    warm_calls: int
    burst_calls: int
    node_names: tuple[str, ...]
    pod: Mapping[str, object]

    @property
    def calls(self) -> int:
        """Calls of one verb."""
        return 1 + self.warm_calls + self.burst_calls


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of calls with an answer, by nearest rank; all None where no call was answered."""

    calls: int
    p50: float | None
    p90: float | None
    p99: float | None
    most: float | None

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Times:
        """The times of answered calls; `calls` counts all of them."""
        milliseconds = sorted(
            1000 * call.seconds for call in calls if call.seconds is not None and call.outcome in _TIMED
        )
        return cls(len(calls), *(_rank(milliseconds, share) for share in (0.5, 0.9, 0.99, 1.0)))


_TIMED = frozenset({CallOutcome.ANSWERED, CallOutcome.ERROR})
"""A throttled call is quick and says nothing about the verb."""


def _rank(ascending: Sequence[float], share: float) -> float | None:
    return ascending[math.ceil(share * len(ascending)) - 1] if ascending else None


@dataclass(frozen=True, slots=True)
class VerbFigures:
    """What was measured of one verb. `first`: the first call, with the connection's set-up and a cold start if any.

    `throttled_in_burst`: a burst may exceed the account's quota; this is what it shows.
    """

    verb: Verb
    first: Times
    warm: Times
    burst: Times
    answer_bytes: int
    outcomes: Mapping[CallOutcome, int]
    detail: str
    """The first error's text, empty if there was none."""
    throttled_in_burst: int


def measure(
    endpoint: Endpoint, verbs: Sequence[Verb], plan: Plan, progress: Callable[[Verb, int], None]
) -> Iterator[VerbFigures]:
    """Measure the verbs one after another. `progress`: called after each call with the number of the verb's calls."""
    for verb in verbs:
        yield _measure_verb(endpoint, verb, plan, progress)


def _measure_verb(endpoint: Endpoint, verb: Verb, plan: Plan, progress: Callable[[Verb, int], None]) -> VerbFigures:
    content = body(verb, plan)
    first = [call(endpoint, verb, content)]
    progress(verb, 1)
    warm: list[Call] = []
    for number in range(plan.warm_calls):
        if first[0].outcome in (CallOutcome.NO_ANSWER, CallOutcome.REFUSED):
            break  # every further call would end like it, after as long a wait
        warm.append(call(endpoint, verb, content))
        progress(verb, 2 + number)
    burst = _burst(endpoint, verb, content, plan.burst_calls) if len(warm) == plan.warm_calls else []
    progress(verb, plan.calls)
    calls = [*first, *warm, *burst]
    return VerbFigures(
        verb,
        Times.of(first),
        Times.of(warm),
        Times.of(burst),
        max(each.answer_bytes for each in calls),
        Counter(each.outcome for each in calls),
        next((each.detail for each in calls if each.detail), ""),
        sum(each.outcome is CallOutcome.THROTTLED for each in burst),
    )


def _burst(endpoint: Endpoint, verb: Verb, content: bytes, calls: int) -> list[Call]:
    """All calls at once: on Lambda each beyond the idle environments is a cold start."""
    if not calls:
        return []
    with ThreadPoolExecutor(calls) as threads:
        return list(threads.map(lambda _: call(endpoint, verb, content), range(calls)))


def body(verb: Verb, plan: Plan) -> bytes:
    """The request in node-cache mode. bind gets no pod, preempt no candidates: both answer without an effect."""
    match verb:
        case Verb.BIND:
            return b"{}"
        case Verb.PREEMPT:
            return orjson.dumps({"Pod": plan.pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}})
        case _:
            return orjson.dumps({"Pod": plan.pod, "Nodes": None, "NodeNames": plan.node_names})


def call(endpoint: Endpoint, verb: Verb, content: bytes) -> Call:
    """Call once, as kube-scheduler does."""
    answer = endpoint.verb(verb, content)
    if isinstance(answer, NoResponse):
        return Call(CallOutcome.NO_ANSWER, None, detail=answer.cause)
    outcome, detail = _judge(verb, answer)
    return Call(outcome, answer.seconds, len(answer.body), detail)


def _judge(verb: Verb, answer: HttpResponse) -> tuple[CallOutcome, str]:
    if answer.status in REFUSED_STATUSES:
        return CallOutcome.REFUSED, f"status {answer.status}: the caller is not authorized"
    if answer.status in THROTTLED_STATUSES:
        return CallOutcome.THROTTLED, f"status {answer.status}"
    if answer.status != OK_STATUS:
        return CallOutcome.FAILED, f"status {answer.status}"
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return CallOutcome.FAILED, "the answer is not JSON"
    error = content.get("Error") if isinstance(content, dict) else None
    # bind answers the request without a pod with an Error: that is the answer which is measured.
    if error and verb is not Verb.BIND:
        return CallOutcome.ERROR, " ".join(str(error).split())[:200]
    return CallOutcome.ANSWERED, ""
