"""Documents of records as attempts, wherever they were kept."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from pydantic import BaseModel, Field

from berth.decisions.document import VERSION
from berth_cli.explain.attempts import Attempt, Attempts, BindAttempt, RecordedVerdict, RejectedCount

FILTERS = frozenset({"filter", "filter_onlyone"})
ALWAYS = -inf
"""For `complete_after`: no record is missing at all."""


class _Reason(BaseModel):
    code: str
    reason: str
    plugin: str
    count: int
    nodes: list[str]
    bitmap: str = ""

    def rejects(self, index: int) -> bool:
        """Whether it rejects this node of the request, where the record has every node."""
        return bool(int(self.bitmap or "0", 16) >> index & 1)


class DecisionRecord(BaseModel):
    """A record of version 1, with the keys that are read here. names: of the nodes of the request, where they were
    asked for."""

    time: float
    verb: str
    uid: str
    outcome: str
    profile: str
    configuration_hash: str = Field(alias="configurationHash")
    cache_age: float | None = Field(alias="cacheAgeSeconds")
    nodes: int
    feasible: int | None
    reasons: list[_Reason]
    chosen: str | None = None
    error: str = ""
    names: list[str] = Field(default=[], alias="nodeNames")


def later_version(documents: object) -> int | None:
    """Of the first record that a later release wrote."""
    listed = documents if isinstance(documents, list) else ()
    versions = [each.get("version") for each in listed if isinstance(each, dict)]
    return next((each for each in versions if isinstance(each, int) and each > VERSION), None)


def attempts_of(records: Sequence[DecisionRecord], *, complete_after: float) -> Attempts | None:
    """The attempts to place a pod; of several pods that had its name, the last one's. None where there is none.

    records: of the name, the oldest first. complete_after: no record after this time is missing, in seconds since the
    epoch.
    """
    of_filters = [each for each in records if each.verb in FILTERS]
    # Where the scheduler is configured without filter, its calls of prioritize are the attempts.
    found = of_filters or [each for each in records if each.verb == "prioritize"]
    if not found:
        return None
    # A call that failed does not know the pod's uid.
    uid = next((each.uid for each in reversed(found) if each.uid), "")
    own = [_attempt(each) for each in found if each.uid in (uid, "")]
    # The pod that had the name before was there after the last gap, so no attempt of this one is in the gap.
    is_after_gap = any(each.uid not in (uid, "") and each.time >= complete_after for each in found)
    return Attempts(own, is_after_gap or complete_after == ALWAYS, _last_bind(records, own[-1].at))


def last_verdict(records: Sequence[DecisionRecord], node: str) -> RecordedVerdict | None:
    """Of the last call of filter on this node; None where there is no such call."""
    last = next((each for each in reversed(records) if each.verb in FILTERS), None)
    if last is None:
        return None
    index = last.names.index(node) if node in last.names else None
    rejecting = () if index is None else tuple(each for each in last.reasons if each.rejects(index))
    # Without a state every node passes, and the record has no names.
    was_asked = index is not None or (last.feasible is None and not last.names and not last.error)
    passes = was_asked and not rejecting and not last.error
    return RecordedVerdict(last.time, node, was_asked, passes, _reasons(rejecting), last.error)


def _last_bind(records: Sequence[DecisionRecord], after: float) -> BindAttempt | None:
    found = [each for each in records if each.verb == "bind" and each.time >= after]
    return BindAttempt(found[-1].time, found[-1].outcome, found[-1].chosen or "", found[-1].error) if found else None


def _attempt(record: DecisionRecord) -> Attempt:
    return Attempt(
        record.time,
        record.verb,
        record.outcome,
        record.profile,
        record.configuration_hash,
        record.cache_age,
        record.nodes,
        record.feasible,
        _reasons(record.reasons),
        record.error,
    )


def _reasons(found: Sequence[_Reason]) -> tuple[RejectedCount, ...]:
    return tuple(RejectedCount(each.code, each.reason, each.plugin, each.count, tuple(each.nodes)) for each in found)
