"""The record of one decision: a byte for each node and a few statuses, without strings for the nodes.

The record keeps the positions of the nodes, which are the same for all calls of one scheduler, but not their names. A
node that is missing from the node cache does not have a position: the names of the first such nodes are kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import compress, count, islice, repeat
from typing import NamedTuple
from weakref import ref

from berth.extender.outcomes import Outcome
from berth.extender.ports import CacheState
from berth.extender.reply import BindDecision, Decision, FailedCall, PreemptDecision, UnjudgedCall
from berth.scheduling.evaluation.verdicts import NONE_REJECTED
from berth.scheduling.framework.plugin import Status
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.node_list import UNKNOWN, NodePositions, NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

_REJECTED = bytes(byte == 0 for byte in range(256))
BEST = 10
MAX_UNKNOWN = 10
"""Maximum number of names of unknown nodes: a request may contain any number of unknown nodes."""

MAX_NAME_CHARACTERS = 253
"""The maximum length of a node's name in Kubernetes."""


@dataclass(frozen=True, slots=True)
class RejectedNodes:
    """The nodes that one reason rejects. bitmap: a bit for each node of the request; the first node has the lowest
    bit."""

    code: ReasonCode
    reason: str
    plugin: str
    bitmap: int

    @property
    def count(self) -> int:
        return self.bitmap.bit_count()


@dataclass(frozen=True, slots=True)
class ScoredNode:
    """One of the best nodes. by_plugin: its weighted scores; None if it was rejected, or if the snapshot was freed."""

    node: str
    score: int
    by_plugin: Mapping[str, int] | None


class Record(NamedTuple):
    """The record of a decision of filter or prioritize.

    at: seconds since the epoch. positions: the positions of the request's nodes. source: assigns the positions.
    unknown: the first names that are missing from the node cache. mask: a byte for each node, 0 if rejected; empty if
    rules were not applied. codes: the index in `statuses` for each rejected node. scores: one for each node of the
    request; for filter_onlyone, one for each node that passes. snapshot: a weak reference, so that a replaced state is
    freed. A named tuple, because creating a frozen dataclass takes five times as long.
    """

    at: float
    verb: str
    outcome: Outcome
    milliseconds: float
    pod: Pod
    policy: Policy
    cache: CacheState
    positions: Sequence[int]
    source: NodePositions
    unknown: Sequence[str]
    mask: bytes
    codes: Sequence[int]
    statuses: Sequence[Status]
    scores: Sequence[int]
    chosen: str
    snapshot: ref[Snapshot]

    @classmethod
    def of(
        cls, verb: str, outcome: Outcome, decision: Decision, at: float, milliseconds: float, last: Record | None = None
    ) -> Record:
        """Create the record. last: an earlier record, whose positions are shared if they are equal."""
        pod, nodes, policy, snapshot, cache, verdicts, scores, chosen, _, totals = decision
        positions: Sequence[int] = nodes.positions
        # The comparison takes a few microseconds; a separate tuple for each call takes 40 KB for 5,000 nodes.
        if last is not None and last.positions == positions:
            positions = last.positions
        mask, rejected = (b"", NONE_REJECTED) if verdicts is None else (verdicts.mask, verdicts.rejected)
        return cls(
            at,
            verb,
            outcome,
            milliseconds,
            pod,
            policy,
            cache,
            positions,
            nodes.source,
            () if nodes.all_known else _unknown(nodes),
            mask,
            rejected.codes,
            rejected.statuses,
            _compact(scores or totals or ()),
            chosen,
            ref(snapshot),
        )

    @property
    def nodes(self) -> int:
        return len(self.positions)

    @property
    def feasible(self) -> int | None:
        return sum(self.mask) if self.mask else None

    def judges(self, node: str) -> bool:
        """Return whether the request contains the node. Of nodes missing from the node cache, only the first ten are
        recognized. Takes up to 0.1 ms for 5,000 nodes."""
        position = self.source[node]
        return node in self.unknown if position == UNKNOWN else position in self.positions

    def rejected(self) -> list[RejectedNodes]:
        bits: dict[int, int] = {}
        indexes = compress(range(len(self.mask)), self.mask.translate(_REJECTED))
        for index, code in zip(indexes, self.codes, strict=True):
            bits[code] = bits.get(code, 0) | 1 << index
        found: dict[tuple[str, str, ReasonCode], int] = {}
        for code, bitmap in bits.items():
            status = self.statuses[code]
            for reason, reason_code in zip(status.reasons, status.reason_codes, strict=True):
                key = status.plugin, reason, reason_code
                found[key] = found.get(key, 0) | bitmap
        groups = [RejectedNodes(code, reason, plugin, bitmap) for (plugin, reason, code), bitmap in found.items()]
        return sorted(groups, key=lambda group: (-group.count, group.reason, group.plugin, group.code))

    def names(self) -> list[str]:
        """Return the names of the request's nodes. Of nodes missing from the node cache, only the first ten have a
        name; the others are empty."""
        by_name = self.source.by_name
        # For 5,000 nodes, look-ups in C take a third of the time of a comprehension.
        names = [*map(dict(zip(by_name.values(), by_name, strict=True)).get, self.positions, repeat(""))]
        if self.unknown:
            unknown = (index for index, position in enumerate(self.positions) if position == UNKNOWN)
            for index, name in zip(unknown, self.unknown, strict=False):
                names[index] = name
        return names

    def best(self, *, by_plugin: bool = True) -> Iterator[ScoredNode]:
        """Yield the nodes with the highest scores. Scores by plugin are computed now, if the snapshot still exists."""
        if not self.scores:
            return
        names = [*compress(self.names(), self.mask)] if self.mask else self.names()
        order = _highest(self.scores, names)
        snapshot = self.snapshot()
        shares: Mapping[str, Mapping[str, int]] = {}
        if snapshot is not None and by_plugin:
            shares = self.policy.scores_by_plugin(self.pod, names, snapshot)
        for index in order:
            yield ScoredNode(names[index], self.scores[index], shares.get(names[index]))


def _highest(scores: Sequence[int], names: Sequence[str]) -> list[int]:
    """Return the indexes of the best scores; ties are ordered by name. Only nodes that may be among the best are
    compared by name."""
    least = sorted(scores)[-BEST:][0]
    best = compress(zip(scores, names, count()), map(least.__le__, scores))
    return [index for _, _, index in nsmallest(BEST, ((-score, name, index) for score, name, index in best))]


def _unknown(nodes: NodeRefs) -> Sequence[str]:
    names = (name for name, position in zip(nodes.names, nodes.positions, strict=True) if position == UNKNOWN)
    return tuple(name[:MAX_NAME_CHARACTERS] for name in islice(names, MAX_UNKNOWN))


def _compact(scores: Sequence[int]) -> Sequence[int]:
    """Pack scores into one byte each, which suffices for the extender's scale; larger scores take eight bytes each."""
    try:
        return bytes(scores)
    except ValueError:
        return array("q", scores)


MAX_EXAMPLES = 3
MAX_VICTIM_NODES = 10


@dataclass(frozen=True, slots=True)
class CallRecord:
    """The record of a call of preempt or bind, or of a failed call. at: seconds since the epoch. uid, profile: empty if
    unknown. nodes: the number of nodes in the request. feasible: for bind 1 if the pod is on the node; for preempt the
    number of accepted nodes. rejected: the rejected nodes by reason, as in the document. victims: the number of victims
    on each of the first accepted nodes. error: why a bind or a call failed."""

    at: float
    verb: str
    outcome: Outcome
    milliseconds: float
    namespace: str
    name: str
    uid: str
    cache: CacheState
    profile: str = ""
    nodes: int = 0
    feasible: int | None = None
    chosen: str = ""
    rejected: Sequence[Mapping[str, object]] = ()
    victims: Mapping[str, int] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def of(
        cls,
        verb: str,
        outcome: Outcome,
        decision: PreemptDecision | BindDecision | UnjudgedCall | FailedCall,
        at: float,
        milliseconds: float,
    ) -> CallRecord:
        of = partial(cls, at, verb, outcome, milliseconds)
        match decision:
            case BindDecision(binding, reason, cache):
                return of(
                    binding.namespace,
                    binding.pod_name,
                    binding.pod_uid,
                    cache,
                    nodes=1,
                    feasible=0 if reason else 1,
                    chosen=binding.node,
                    error=reason,
                )
            case PreemptDecision(pod, policy, cache, found, unreadable):
                return of(
                    pod.namespace,
                    pod.name,
                    pod.uid,
                    cache,
                    policy.profile_of(pod).name,
                    len(found.victims) + len(found.rejected) + len(unreadable),
                    len(found.victims),
                    rejected=_groups(found.rejected, unreadable),
                    victims={node: len(found.victims[node].pods) for node in sorted(found.victims)[:MAX_VICTIM_NODES]},
                )
            case UnjudgedCall(pod, nodes, cache):
                return of(pod.namespace, pod.name, pod.uid, cache, nodes=nodes)
            case FailedCall(named, reason, cache):
                namespace, _, name = named.partition("/")
                return of(namespace, name, "", cache, error=reason)


def _groups(rejected: Mapping[str, NodeRejection], unreadable: Mapping[str, str]) -> Sequence[Mapping[str, object]]:
    found: dict[tuple[ReasonCode, str], list[str]] = {}
    for node, rejection in rejected.items():
        found.setdefault((rejection.reason_code, str(rejection)), []).append(node)
    for node, reason in unreadable.items():
        found.setdefault((ReasonCode.VICTIM_UNREADABLE, reason), []).append(node)
    groups = sorted(found.items(), key=lambda group: (-len(group[1]), group[0][1]))
    return [
        {"code": code, "reason": reason, "plugin": "", "count": len(nodes), "nodes": nodes[:MAX_EXAMPLES]}
        for (code, reason), nodes in groups
    ]
