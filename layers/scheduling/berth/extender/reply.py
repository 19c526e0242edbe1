"""Replies of the verbs, with the reasons of rejected nodes and the scores of feasible nodes as JSON.

On a large cluster thousands of nodes have a handful of reasons and scores. Joining strings takes half the time of
filling and encoding a dictionary, and a third of the time if each node has its own dictionary; the bytes are the same.
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
    """One decision about the nodes of a request. A tuple, because every call creates a Decision, and a dataclass takes
    three times as long.

    verdicts: filter's result; None if rules were not applied. scores: prioritize's score for each of `nodes`. chosen:
    the only node that filter_onlyone returns; empty otherwise. totals: the scores behind that choice, for each node
    that passes. open_gangs: the open gangs that were considered for a member of a gang.
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
    """One review of proposed victims. unreadable: the reasons of nodes omitted before the review, by node."""

    pod: Pod
    policy: Policy
    cache: CacheState
    found: PreemptResult
    unreadable: Mapping[str, str]


class BindDecision(NamedTuple):
    """The result of a bind. reason: empty if the pod is on the node."""

    binding: Binding
    reason: str
    cache: CacheState


class UnjudgedCall(NamedTuple):
    """A call that answered without evaluating nodes: the cluster state was missing, scoring took too long, or the
    request did not contain nodes. nodes: the number of nodes in the request."""

    pod: Pod
    nodes: int
    cache: CacheState = UNREAD_CACHE


class FailedCall(NamedTuple):
    """A call that failed before a decision. pod: `namespace/name`."""

    pod: str
    reason: str
    cache: CacheState = UNREAD_CACHE


AnyDecision = Decision | PreemptDecision | BindDecision | UnjudgedCall | FailedCall


class DecisionRecorder(ABC):
    """Records decisions. Thread-safe."""

    @abstractmethod
    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        """Record the decision. Called after the answer is ready and before it is sent, so it must be fast. Its
        exceptions do not fail the call."""


OK = 200
BAD_REQUEST = 400
INTERNAL_SERVER_ERROR = 500


class Reply(NamedTuple):
    """The reply of a verb; `body` is JSON. `pod` and `detail` are for the log: `namespace/name`, and a one-line
    description. `decision`: the decision to record, if any. reason_code: the code of the reason that rejects the most
    nodes, if all nodes are rejected."""

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
    """Encode the answer of a verb that made a decision: always status 200 (fact 3)."""
    return Reply(orjson.dumps(answer), outcome, pod=pod, detail=detail, decision=decision)


def error_reply(answer: object, failure: Failure) -> Reply:
    """Report a failure in the answer's `Error` field: only a 200 body reaches the pod's event (facts 3 and 14).

    If the answer lacks this field, the caller does not see the failure: with Basic credentials an HTTP status would
    print the password into the pod's event (facts 28 and 37). The log and the outcome's metric show the failure."""
    return Reply(orjson.dumps(answer), failure.outcome, pod=failure.pod, detail=failure.reason)


def status_reply(failure: Failure) -> Reply:
    """Report a failure by the HTTP status, the only signal for a result type without `Error` (facts 20 and 28)."""
    status = BAD_REQUEST if failure.outcome is FailureOutcome.BAD_REQUEST else INTERNAL_SERVER_ERROR
    return Reply(orjson.dumps({"Error": failure.reason}), failure.outcome, status, failure.pod, failure.reason)


def reasons(rejected: Rejected) -> object:
    names = rejected.names
    if not names or _need_escapes(names):
        return rejected.messages
    after = rejected.for_each_node([_after_name(status.message) for status in rejected.statuses])
    return _joined('{"', names, after, _NEXT_NAME, "}")


def host_scores(names: list[str], scores: Sequence[int]) -> object:
    """Encode a HostPriorityList: a JSON array with an object for each name."""
    if not names or _need_escapes(names):
        return [{"Host": name, "Score": score} for name, score in zip(names, scores, strict=True)]
    after = {score: f'","Score":{score}}}{_NEXT_HOST}' for score in set(scores)}
    return _joined('[{"Host":"', names, pick(after, scores), _NEXT_HOST, "]")


_NEXT_NAME, _NEXT_HOST = ',"', ',{"Host":"'


@lru_cache(maxsize=1024)
def _after_name(message: str) -> str:
    return f'":{orjson.dumps(message).decode()}{_NEXT_NAME}'


def _need_escapes(names: list[str]) -> bool:
    """Return whether a name needs JSON escapes. Such a name is not a valid node name; the encoder escapes it."""
    return b"\\" in orjson.dumps(names)


def _joined(start: str, names: list[str], after: Sequence[str], separator: str, end: str) -> orjson.Fragment:
    """Join the names into JSON. after: the text after each name, which ends with the separator."""
    parts = [""] * (2 * len(names))
    parts[0::2] = names
    parts[1::2] = after
    parts[0] = start + parts[0]
    parts[-1] = parts[-1].removesuffix(separator) + end
    return orjson.Fragment("".join(parts))
