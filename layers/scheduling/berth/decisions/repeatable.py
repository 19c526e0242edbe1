"""What a decision needs to be made again, beside its record: the pod, the verdict or the score of each node, the pods
and the gangs that were being bound.

The nodes are those of the state in the order of their names, a number for each, so no name is written but of nodes that
the state does not have. Whoever has the state of that version has the names. A checksum of them says whether it is the
right one: a call may decide on a later version than the one that it read.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

import orjson

from berth.extender.decision import Decision
from berth.scheduling.evaluation.verdicts import NONE_REJECTED
from berth.scheduling.gangs.gang import OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import names_gang
from berth.scheduling.snapshot.node_positions import UNKNOWN
from berth.scheduling.snapshot.snapshot import Snapshot

VERSION = 1
"""It rises when a reader of before would misread it."""

NOT_ASKED, PASSES, FIRST_STATUS = 0, 1, 2
"""Numbers of filter: not in the request, passes, rejected by the first status. Of prioritize a score plus 1."""

MOST_UNKNOWN = 100
_FASTEST = 1
_CHECKSUM_BYTES = 8


@dataclass(frozen=True, slots=True)
class RepeatableDecision:
    """checksum: of the state's nodes. unknown: nodes of the request that the state does not have, in order. values: of
    the state's nodes and then of the unknown ones. statuses: code, plugin and message of each. assumed, open_gangs: see
    `assumed_pods` and `gang_rows`."""

    pod: Mapping[str, object]
    checksum: str
    unknown: Sequence[str]
    values: Sequence[int]
    statuses: Sequence[Sequence[str]]
    assumed: Sequence[Sequence[object]]
    open_gangs: Sequence[Sequence[object]]


class RepeatableEncoder:
    """Remembers the order of the nodes from one decision to the next. For one thread."""

    def __init__(self) -> None:
        self._nodes: frozenset[str] = frozenset()
        self._ordered: list[str] = []
        self._checksum = ""

    def encoded(self, decision: Decision) -> bytes | None:
        """None where the decision cannot be made again: its state is the request, or it has too many unknown nodes."""
        nodes, snapshot = decision.nodes, decision.snapshot
        if not decision.cache.version:
            return None
        self._order(snapshot)
        by_name = dict(zip(nodes.names, _values(decision), strict=True))
        unknown: list[str] = []
        if UNKNOWN in nodes.positions:
            unknown = sorted(by_name.keys() - self._nodes)
        if len(unknown) > MOST_UNKNOWN:
            return None
        values = [by_name.get(name, NOT_ASKED) for name in (*self._ordered, *unknown)]
        is_small = max(values, default=0) < 256
        rejected = NONE_REJECTED if decision.verdicts is None else decision.verdicts.rejected
        document = {
            "version": VERSION,
            "pod": pod_document(decision.pod),
            "checksum": self._checksum,
            "unknown": unknown,
            "bytes": 1 if is_small else 8,
            "statuses": [(each.code.value, each.plugin, each.message) for each in rejected.statuses],
            "assumed": assumed_pods(snapshot),
            "openGangs": gang_rows(decision.open_gangs),
        }
        numbers = bytes(values) if is_small else array("q", values).tobytes()
        return zlib.compress(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE) + numbers, _FASTEST)

    def _order(self, snapshot: Snapshot) -> None:
        names = snapshot.nodes.keys()
        if names != self._nodes:
            self._nodes, self._ordered = frozenset(names), sorted(names)
            self._checksum = checksum_of(self._ordered)


def decoded(data: bytes) -> RepeatableDecision | None:
    """None for one that a later release wrote. Raises ValueError and KeyError for what is none."""
    try:
        line, _, numbers = zlib.decompress(data).partition(b"\n")
    except zlib.error as error:
        raise ValueError(str(error)) from error
    document = orjson.loads(line)
    if document["version"] > VERSION:
        return None
    values: Sequence[int] = numbers if document["bytes"] == 1 else array("q", numbers)
    return RepeatableDecision(
        document["pod"],
        document["checksum"],
        document["unknown"],
        values,
        document["statuses"],
        document["assumed"],
        document["openGangs"],
    )


def checksum_of(ordered: Iterable[str]) -> str:
    """Of the names of a state's nodes, in order."""
    return blake2b("\n".join(ordered).encode(), digest_size=_CHECKSUM_BYTES).hexdigest()


def _values(decision: Decision) -> Iterable[int]:
    """In the request's order."""
    if decision.scores is not None:
        return [score + PASSES for score in decision.scores]
    if decision.verdicts is None:
        return [PASSES] * len(decision.nodes)
    codes = iter(decision.verdicts.rejected.codes)
    return [PASSES if passes else FIRST_STATUS + next(codes) for passes in decision.verdicts.mask]


def pod_document(pod: Pod) -> Mapping[str, object]:
    """The fields that decisions read, as an object from which the same pod is read again."""
    shared = orjson.loads(pod.spec.source) if pod.spec.source else {}
    metadata = {**shared.get("metadata", {}), "name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    metadata |= {
        name: dict(value) for name, value in (("labels", pod.labels), ("annotations", pod.annotations)) if value
    }
    if pod.created_at is not None and names_gang(pod):
        # Gangs are planned by their age.
        metadata["creationTimestamp"] = _timestamp(pod.created_at)
    if pod.terminating:
        # When is of no account.
        metadata["deletionTimestamp"] = _timestamp(pod.created_at or 0.0)
    status = {**shared.get("status", {})}
    if pod.phase:
        status["phase"] = pod.phase
    if pod.nominated_node:
        status["nominatedNodeName"] = pod.nominated_node
    spec = {**shared.get("spec", {})}
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    return {"metadata": metadata, "spec": spec, "status": status}


def assumed_pods(snapshot: Snapshot) -> list[tuple[object, ...]]:
    """The pods that are being bound: namespace, name, UID, node, shares, and the pod where the state does not have
    it."""
    found: list[tuple[object, ...]] = []
    for node, pods in snapshot.assumed.items():
        for pod in pods:
            known = pod.uid in snapshot.base.unbound or not pod.spec.source
            obj = None if known else pod_document(pod)
            found.append((pod.namespace, pod.name, pod.uid, node, pod.assumed_shares or {}, obj))
    return found


def gang_rows(gangs: Iterable[OpenGang]) -> list[tuple[object, ...]]:
    """The gangs that are being bound: namespace, name, priority, nodes by UID, whether committed."""
    return [(each.key.namespace, each.key.name, each.priority, dict(each.members), each.is_committed) for each in gangs]


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
