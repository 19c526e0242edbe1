"""Replies of the verbs, and the reasons of rejected nodes and the scores of the others as JSON.

On a large cluster thousands of nodes have a handful of reasons and scores. Joining strings takes half the time of
filling and encoding dictionaries, and a third of that where there is one for each node; the bytes are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import orjson

from berth.extender.outcomes import Failure, FailureOutcome, Outcome
from berth.extender.ports import UNREAD_CACHE, CacheState
from berth.scheduling.evaluation.verdicts import FilterResult, Rejected
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.node_list import NodeRefs, pick
from berth.scheduling.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from berth.pods import Binding
    from berth.scheduling.preemption.victim_review import PreemptResult


class Decision(NamedTuple):
    """One decision about the nodes of a request. Every call makes one, and a tuple is made in a third of the time.

    verdicts: of filter; None where no rule was applied. scores: of prioritize, for each of `nodes`. chosen: the only
    node that filter_onlyone leaves; empty otherwise. totals: by which it was chosen, for each node that passes.
    open_gangs: those that counted for a member of a gang.
    """

    pod: Pod
    nodes: NodeRefs
    policy: Policy
    snapshot: Snapshot
    cache: CacheState
    verdicts: FilterResult | None = None
    scores: Sequence[int] | None = None
    chosen: str = ""
    open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS
    totals: Sequence[int] | None = None


class PreemptDecision(NamedTuple):
    """One review of proposed victims. unreadable: why nodes were left out before the review, by node."""

    pod: Pod
    policy: Policy
    cache: CacheState
    found: PreemptResult
    unreadable: Mapping[str, str]


class BindDecision(NamedTuple):
    """How a bind ended. reason: empty where the pod is on the node."""

    binding: Binding
    reason: str
    cache: CacheState


class UnjudgedCall(NamedTuple):
    """A call that answered without a verdict or a score of any node: there was no state to decide by, scoring took too
    long, or the request has no nodes. nodes: how many the request has."""

    pod: Pod
    nodes: int
    cache: CacheState = UNREAD_CACHE


class FailedCall(NamedTuple):
    """A call that decided nothing. pod: `namespace/name`."""

    pod: str
    reason: str
    cache: CacheState = UNREAD_CACHE


AnyDecision = Decision | PreemptDecision | BindDecision | UnjudgedCall | FailedCall


class DecisionRecorder(ABC):
    """Records of decisions. Threads share it."""

    @abstractmethod
    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        """Called after the answer is ready, and before it is sent: it must be fast. What it raises is no failure of the
        call."""


OK = 200
BAD_REQUEST = 400
INTERNAL_SERVER_ERROR = 500


class Reply(NamedTuple):
    """`body` is JSON. `pod` and `detail` are for the log: `namespace/name`, and what happened in one line. `decision`:
    for records of decisions; None where nothing was decided. reason_code: of the reason that rejects most nodes, where
    no node passes."""

    body: bytes
    outcome: Outcome
    status: int = OK
    pod: str = ""
    detail: str = ""
    decision: AnyDecision | None = None
    reason_code: str = ""


def reply(
    answer: object, outcome: Outcome, *, pod: str = "", detail: str = "", decision: AnyDecision | None = None
) -> Reply:
    """Encode the answer of a verb that decided: always status 200 (fact 3)."""
    return Reply(orjson.dumps(answer), outcome, pod=pod, detail=detail, decision=decision)


def error_reply(answer: object, failure: Failure) -> Reply:
    """A failure in the answer's `Error` field: only a 200 body reaches the pod's event (facts 3 and 14).

    Without such a field the caller does not see it: behind Basic credentials an HTTP status would print the password
    into the pod's event (facts 28 and 37). The log and the outcome's metric have it."""
    return Reply(orjson.dumps(answer), failure.outcome, pod=failure.pod, detail=failure.reason)


def status_reply(failure: Failure) -> Reply:
    """A failure of a verb whose answer has no `Error` field: the HTTP status is the only signal (facts 20 and 28)."""
    status = BAD_REQUEST if failure.outcome is FailureOutcome.BAD_REQUEST else INTERNAL_SERVER_ERROR
    return Reply(orjson.dumps({"Error": failure.reason}), failure.outcome, status, failure.pod, failure.reason)


def reasons(rejected: Rejected) -> object:
    names = rejected.names
    if not names or _need_escapes(names):
        return rejected.messages
    after = rejected.for_each_node([_after_name(status.message) for status in rejected.statuses])
    return _joined('{"', names, after, _NEXT_NAME, "}")


def host_scores(names: list[str], scores: Sequence[int]) -> object:
    """HostPriorityList: a JSON array with an object for each name."""
    if not names or _need_escapes(names):
        return [{"Host": name, "Score": score} for name, score in zip(names, scores, strict=True)]
    after = {score: f'","Score":{score}}}{_NEXT_HOST}' for score in set(scores)}
    return _joined('[{"Host":"', names, pick(after, scores), _NEXT_HOST, "]")


_NEXT_NAME, _NEXT_HOST = ',"', ',{"Host":"'


@lru_cache(maxsize=1024)
def _after_name(message: str) -> str:
    return f'":{orjson.dumps(message).decode()}{_NEXT_NAME}'


def _need_escapes(names: list[str]) -> bool:
    """A name that needs escapes is no node's name; the encoder escapes it."""
    return b"\\" in orjson.dumps(names)


def _joined(start: str, names: list[str], after: Sequence[str], separator: str, end: str) -> orjson.Fragment:
    """JSON of names with what is after each of them, which ends with the separator."""
    parts = [""] * (2 * len(names))
    parts[0::2] = names
    parts[1::2] = after
    parts[0] = start + parts[0]
    parts[-1] = parts[-1].removesuffix(separator) + end
    return orjson.Fragment("".join(parts))
