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
from itertools import compress, repeat

import orjson

from berth.extender.decision import Decision
from berth.scheduling.evaluation.verdicts import NONE_REJECTED
from berth.scheduling.gangs.gang import OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import names_gang
from berth.scheduling.snapshot.node_positions import UNKNOWN, NodePositions, NodeRefs, pick
from berth.scheduling.snapshot.snapshot import Snapshot

VERSION = 1
"""It rises when a reader of before would misread it."""

NOT_ASKED, PASSES, FIRST_STATUS = 0, 1, 2
"""Numbers of filter: not in the request, passes, rejected by the first status. Of prioritize a score plus 1."""

MOST_UNKNOWN = 100
_FASTEST = 1
_CHECKSUM_BYTES = 8
_BYTE, _LARGEST = 256, b"\xff"
_PASSES = bytes(PASSES if byte else NOT_ASKED for byte in range(_BYTE))
_IS_REJECTED = bytes(byte == 0 for byte in range(_BYTE))
_ONE_MORE = bytes((byte + PASSES) % _BYTE for byte in range(_BYTE))


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
    """Remembers the order of the nodes from one decision to the next. For one thread.

    The numbers of 5,000 nodes are put into order by look-ups in C: a comprehension over the names takes five times as
    long as the whole decision.
    """

    def __init__(self) -> None:
        self._positions = NodePositions()
        self._ordered: tuple[int, ...] = ()
        self._checksum = checksum_of(())

    def encoded(self, decision: Decision) -> bytes | None:
        """None where the decision cannot be made again: its state is the request, or it has too many unknown nodes."""
        nodes, snapshot = decision.nodes, decision.snapshot
        if not decision.cache.version:
            return None
        self._order(snapshot.positions)
        nodes = NodeRefs.of(nodes, snapshot.positions)
        values = _values(decision)
        unknown: dict[str, int] = {}
        if not nodes.all_known:
            asked = zip(nodes.names, nodes.positions, values, strict=True)
            unknown = {name: value for name, position, value in asked if position == UNKNOWN}
        if len(unknown) > MOST_UNKNOWN:
            return None
        by_position = dict(zip(nodes.positions, values, strict=True))
        names = sorted(unknown)
        found = [*map(by_position.get, self._ordered, repeat(NOT_ASKED)), *(unknown[name] for name in names)]
        is_small = not isinstance(values, list)
        rejected = NONE_REJECTED if decision.verdicts is None else decision.verdicts.rejected
        document = {
            "version": VERSION,
            "pod": pod_document(decision.pod),
            "checksum": self._checksum,
            "unknown": names,
            "bytes": 1 if is_small else 8,
            "statuses": [(each.code.value, each.plugin, each.message) for each in rejected.statuses],
            "assumed": assumed_pods(snapshot),
            "openGangs": gang_rows(decision.open_gangs),
        }
        data = bytes(found) if is_small else array("q", found).tobytes()
        return zlib.compress(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE) + data, _FASTEST)

    def _order(self, positions: NodePositions) -> None:
        """A state with other nodes has other positions."""
        if positions is not self._positions:
            by_name = positions.by_name
            names = sorted(by_name)
            self._positions, self._ordered = positions, pick(by_name, names)
            self._checksum = checksum_of(names)


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


def _values(decision: Decision) -> Sequence[int]:
    """In the request's order; bytes if each number fits into one."""
    if decision.scores is not None:
        return _plus_one(decision.scores)
    if decision.verdicts is None:
        return bytes((PASSES,)) * len(decision.nodes)
    mask, rejected = decision.verdicts.mask, decision.verdicts.rejected
    values: bytearray | list[int] = bytearray(mask.translate(_PASSES))
    if FIRST_STATUS + len(rejected.statuses) > _BYTE:
        values = [*values]
    indexes = compress(range(len(mask)), mask.translate(_IS_REJECTED))
    for index, code in zip(indexes, rejected.codes, strict=True):
        values[index] = FIRST_STATUS + code
    return values


def _plus_one(scores: Sequence[int]) -> Sequence[int]:
    try:
        small = bytes(scores)
    except ValueError:
        small = _LARGEST
    return [score + PASSES for score in scores] if _LARGEST in small else small.translate(_ONE_MORE)


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
            found.append((pod.namespace, pod.name, pod.uid, node, pod.assumed_shares, obj))
    return found


def gang_rows(gangs: Iterable[OpenGang]) -> list[tuple[object, ...]]:
    """The gangs that are being bound: namespace, name, priority, nodes by UID, whether committed."""
    return [(each.key.namespace, each.key.name, each.priority, dict(each.members), each.is_committed) for each in gangs]


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
