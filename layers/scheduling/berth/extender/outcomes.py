"""Outcomes of calls. The verb determines the outcome; the endpoint writes it once, as a log field and a metric."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

WAITING = "no node fits yet; Berth waits for newer state of the cluster before the pod may evict others"
"""The Error of FilterOutcome.WAITING; constant, because the scheduler retries at once if the text changes (fact 17)."""


class FilterOutcome(StrEnum):
    """Outcomes of filter and filter_onlyone. PASSED: all names pass without a cache (`whenStale: pass`). TOO_COSTLY: no
    name passes, because the decision takes too long. WAITING: no node fits, but the cache may be behind the scheduler,
    and after a rejection the pod would evict others."""

    FEASIBLE = "feasible"
    NONE_FEASIBLE = "none-feasible"
    EXEMPT = "exempt"
    PASSED = "passed-without-cache"
    TOO_COSTLY = "too-costly"
    WAITING = "waiting-for-cache"


class PrioritizeOutcome(StrEnum):
    """Outcomes of prioritize. TOO_COSTLY: every score is 0, because scoring takes too long."""

    SCORED = "scored"
    PASSED = "passed-without-cache"
    TOO_COSTLY = "too-costly"


class BindOutcome(StrEnum):
    """Outcomes of bind. Only BOUND and ALREADY_BOUND leave the pod on the node.

    NOT_COVERED: the configuration's `bind` does not list the pod's namespace, or the deployment does not name its
    scheduler. REJECTED: a filter that looks at other pods rejects the node, because of pods bound after the call of
    filter. NOT_JUDGED: such a filter was not evaluated, or the pod was not announced: for example, the cache is stale,
    the log is unavailable, or other binds were faster at every try. TOO_LARGE: the pod is too large for an
    announcement, so it is not bound under such rules. INSUFFICIENT, NO_LEDGER and COUNTED_ELSEWHERE occur only for pods
    that request counted resources. INSUFFICIENT: the node or a floating pool has too little left. NO_LEDGER: a ledger
    does not exist yet or is being rebuilt, no store holds the ledger's Lease, or the node's labels are unknown.
    COUNTED_ELSEWHERE: another store counts the cluster's resources. CONTENDED: other calls changed the pod or the
    ledger at every attempt. UNREADABLE: the pod or its request cannot be read. The GANG outcomes occur only for members
    of gangs. GANG_WAITS: the gang cannot be placed now, for example while another gang is being placed. GANG_GAVE_UP:
    too few members were being bound at once. GANG_DEGRADED: the gang is committed, and this member's Binding failed for
    good. GANG_INVALID: the pod does not describe a gang that can be placed.
    """

    BOUND = "bound"
    ALREADY_BOUND = "already-bound"
    BOUND_ELSEWHERE = "bound-elsewhere"
    POD_GONE = "pod-gone"
    REFUSED = "refused"
    UNANSWERED = "unanswered"
    NOT_COVERED = "not-covered"
    REJECTED = "rejected"
    NOT_JUDGED = "not-judged"
    TOO_LARGE = "too-large"
    INSUFFICIENT = "insufficient"
    NO_LEDGER = "no-ledger"
    COUNTED_ELSEWHERE = "counted-elsewhere"
    CONTENDED = "contended"
    LEDGER_UNAVAILABLE = "ledger-unavailable"
    UNREADABLE = "unreadable"
    GANG_WAITS = "gang-waits"
    GANG_GAVE_UP = "gang-gave-up"
    GANG_DEGRADED = "gang-degraded"
    GANG_INVALID = "gang-invalid"


class PreemptOutcome(StrEnum):
    """Outcomes of preempt. TOO_COSTLY: no node is accepted, because the review takes too long."""

    AGREED = "agreed"
    NO_CANDIDATES = "no-candidates"
    PASSED = "passed-without-cache"
    TOO_COSTLY = "too-costly"


class FailureOutcome(StrEnum):
    """Outcomes of any verb that are not decisions.

    COUNTING_LOST: the configuration in force does not count resources, although the ledger does. COUNTED_ELSEWHERE:
    another store counts the cluster's resources. ANSWER_TOO_LARGE: Lambda cannot return the answer. DEADLINE_PASSED:
    the call's time was over before the decision. PLUGIN_FAILED: a custom plugin raised an exception, or returned a
    wrong type.
    """

    BAD_REQUEST = "failure-bad-request"
    CACHE_UNAVAILABLE = "failure-cache-unavailable"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"
    COUNTING_LOST = "failure-counting-lost"
    ANSWER_TOO_LARGE = "failure-answer-too-large"
    COUNTED_ELSEWHERE = "failure-counted-elsewhere"
    DEADLINE_PASSED = "failure-deadline-passed"
    PLUGIN_FAILED = "failure-plugin-failed"
    INTERNAL = "failure-internal"


@dataclass(frozen=True, slots=True)
class BindResult:
    """The result of a bind. reason: the text of the pod's event; empty if the pod is on the node. The same cause has
    the same text each time (fact 17)."""

    outcome: BindOutcome
    reason: str = ""


Outcome = FilterOutcome | PrioritizeOutcome | BindOutcome | PreemptOutcome | FailureOutcome


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a decision. reason: the text of the pod's event, with the cause and a remedy, but no secrets."""

    outcome: FailureOutcome
    reason: str
    pod: str = ""


def deadline_passed(pod: str, cause: str = "") -> Failure:
    """Return a temporary failure: the next call may have more time. cause: the reason for the delay, if known."""
    reason = cause or "the deadline passed before the decision: a cold start, or a slow table"
    return Failure(FailureOutcome.DEADLINE_PASSED, reason, pod)


def plugin_failed(pod: str, error: Exception) -> Failure:
    """Return a custom plugin's failure: the text has the plugin, the pod and the node. Other pods are unaffected."""
    return Failure(FailureOutcome.PLUGIN_FAILED, f"pod {pod}: {error}", pod)


def bad_request(reason: str) -> Failure:
    """Return the failure of a request that kube-scheduler never sends. Tables are not read or written for it."""
    return Failure(FailureOutcome.BAD_REQUEST, reason)
