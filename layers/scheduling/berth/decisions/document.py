"""A record as a document for programs and for the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from berth.decisions.record import CallRecord, Record, RejectedNodes
from berth.scheduling.reason_code import REASON_CODES_VERSION

VERSION = 1
"""The version of the document. It increases if a key is removed or gets another meaning."""

MAX_EXAMPLES = 3


MAX_ANSWERED = 50
"""Maximum number of documents in one answer; the newest matching documents are returned. Each takes a few kilobytes."""

MAX_WITH_NODES = 3
"""Maximum number of documents with all nodes: each contains the name and a few bits for each node."""

MAX_REASONS = 50
"""Maximum number of reasons: a custom plugin may return a different reason for each node."""

MAX_REASON_CHARACTERS = 1000
"""Maximum length of a reason: a custom plugin may return reasons of any length."""

NODE_NAMES, BITMAP = "nodeNames", "bitmap"


def with_every_node(record: Record, *, by_plugin: bool = False) -> dict[str, object]:
    """Return the document with the nodes of the request. Each reason has a bitmap in hexadecimal digits with a bit for
    each node; the first node has the lowest bit."""
    names, rejected = record.names(), record.rejected()[:MAX_REASONS]
    found = document(record, names, by_plugin=by_plugin)
    reasons = [_reason(each, names) | {BITMAP: f"{each.bitmap:x}"} for each in rejected]
    return found | {"reasons": reasons, NODE_NAMES: names}


def document(
    record: Record, names: Sequence[str], *, by_plugin: bool = False, most_examples: int = MAX_EXAMPLES
) -> dict[str, object]:
    """Return the document with the number of nodes and examples for each reason. names: the nodes of the request, in
    its order. by_plugin: whether to compute scores by plugin, which takes longer than the decision."""
    reasons = [_reason(each, names, most_examples) for each in record.rejected()[:MAX_REASONS]]
    best = [
        {"node": each.node, "score": each.score, "byPlugin": each.by_plugin}
        for each in record.best(by_plugin=by_plugin)
    ]
    return _document(record, record.policy.profile_of(record.pod).name, reasons) | {"best": best}


def call_document(record: CallRecord) -> dict[str, object]:
    """Return a document with the same keys for preempt, bind and calls that failed."""
    return _document(record, record.profile, list(record.rejected)) | {
        "victims": dict(record.victims),
        "error": record.error,
    }


def _document(record: Record | CallRecord, profile: str, reasons: Sequence[object]) -> dict[str, object]:
    return {
        **header(record),
        "profile": profile,
        "nodes": record.nodes,
        "feasible": record.feasible,
        "chosen": record.chosen or None,
        "reasons": reasons,
        "best": [],
        "victims": {},
        "error": "",
    }


def header(record: Record | CallRecord) -> dict[str, object]:
    observed_at = record.cache.observed_at
    pod = record if isinstance(record, CallRecord) else record.pod
    return {
        "version": VERSION,
        "reasonCodesVersion": REASON_CODES_VERSION,
        "time": round(record.at, 3),
        "verb": record.verb,
        "outcome": record.outcome,
        "milliseconds": round(record.milliseconds, 3),
        "configurationHash": record.cache.configuration_hash,
        "cacheVersion": record.cache.version,
        "cacheAgeSeconds": round(record.at - observed_at, 3) if observed_at else None,
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
    }


def _reason(group: RejectedNodes, names: Sequence[str], most_examples: int = MAX_EXAMPLES) -> dict[str, object]:
    return {
        "code": group.code,
        "reason": group.reason[:MAX_REASON_CHARACTERS],
        "plugin": group.plugin,
        "count": group.count,
        "nodes": list(islice(nodes_of(group, names), most_examples)),
    }


def nodes_of(group: RejectedNodes, names: Sequence[str]) -> Iterator[str]:
    """Yield the group's nodes with known names. names: the nodes of the request, in its order."""
    return (name for index, name in enumerate(names) if group.bitmap >> index & 1 and name)
