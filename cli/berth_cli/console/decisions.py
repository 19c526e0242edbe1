"""Recorded extender calls: `/api/decisions` lists the calls that match a filter, `/api/decision` returns a call with
nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count
from threading import Lock
from typing import Any

import orjson

from berth.decisions.document import call_document, document, nodes_of
from berth.decisions.record import CallRecord, Record
from berth_cli.console.access import Outcome, Refusal
from berth_cli.console.application import Document, Query
from berth_cli.console.cluster import NotRead
from berth_cli.installation.doctor.checks.verbs import PROBE_NAME, PROBE_NAMESPACE
from berth_cli.server.recent_decisions import RecentDecisions

MAX_SHOWN = 200
"""The maximum number of decisions in a list, which has the newest decisions. The counts include all decisions."""

NO_DECISIONS = (
    "this console has no decisions: no verb runs in its process; start berth serve with --console, or berth console "
    "with --stack"
)

SUMMARY_NODES = 30
"""The maximum number of node names per reason in a summary. A filter can match parts of these names."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A recorded call. number: unique in this process; later decisions have higher numbers. record: the document of the
    call, with some nodes of each reason. judges: returns whether the verdict on this node is known. details: returns
    the document with `rejected` (the nodes by reason), `passed` (the other nodes) and `scores`; a reason's `count` may
    exceed the number of its node names.
    """

    number: int
    record: Mapping[str, Any]
    judges: Callable[[str], bool]
    details: Callable[[], Mapping[str, Any]]

    @property
    def key(self) -> str:
        """The key in the page's address: it stays unambiguous after a restart, when numbers are reused."""
        return f"{self.number}@{self.record['time']}"


class DecisionSource(ABC):
    """A source of decisions. Thread-safe."""

    @abstractmethod
    def all(self) -> Sequence[Decision] | NotRead:
        """Return all known decisions, the oldest first. Takes up to some hundred milliseconds."""

    @abstractmethod
    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, Any]]:
        """Return the known records of pods with this name, the oldest first. Does not read the table."""


class DecisionsHere(DecisionSource):
    """The decisions that `berth serve --console` keeps in memory."""

    def __init__(self, recent: RecentDecisions) -> None:
        self._recent = recent
        self._lock = Lock()
        self._numbers = count(1)
        # Keyed by identity: the record stays referenced, so no other record can get the same identity.
        self._known: dict[int, tuple[Record | CallRecord, Decision]] = {}

    def all(self) -> Sequence[Decision]:
        kept: list[Record | CallRecord] = [*self._recent.all(), *self._recent.calls()]
        kept.sort(key=lambda record: record.at)
        with self._lock:
            known = self._known
            self._known = {
                id(each): known.get(id(each)) or (each, _decision(next(self._numbers), each)) for each in kept
            }
            return [decision for _, decision in self._known.values()]

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, Any]]:
        return [each.record for each in self.all() if is_of_pod(each.record, namespace, name)]


def is_of_pod(record: Mapping[str, Any], namespace: str, name: str) -> bool:
    """Return whether the record belongs to a pod with this name."""
    return (record["namespace"], record["name"]) == (namespace, name)


def _decision(number: int, record: Record | CallRecord) -> Decision:
    if isinstance(record, CallRecord):
        return named_decision(number, call_document(record))
    summary = document(record, record.names(), most_examples=SUMMARY_NODES)
    return Decision(number, summary, record.judges, lambda: _details(record))


def named_decision(number: int, record: Mapping[str, Any]) -> Decision:
    """Return a decision of which only the nodes in the record are known."""
    chosen = [record["chosen"]] if record["chosen"] and record["feasible"] != 0 else []
    passed = list(dict.fromkeys([*chosen, *record["victims"]]))
    details = {**record, "rejected": record["reasons"], "passed": passed, "scores": record["best"]}
    return Decision(number, record, lambda node: node in nodes_named(record), lambda: details)


def nodes_named(record: Mapping[str, Any]) -> set[str]:
    """Return the nodes that a record names."""
    rejected = (node for reason in record["reasons"] for node in reason["nodes"])
    return {*rejected, *(each["node"] for each in record["best"]), *record["victims"], record["chosen"] or ""} - {""}


def _details(record: Record) -> dict[str, Any]:
    """Return the document with all nodes."""
    names = record.names()
    passed = compress(names, record.mask) if record.mask else names
    return {
        **document(record, names, by_plugin=True),
        "rejected": [
            {"reason": each.reason, "plugin": each.plugin, "count": each.count, "nodes": list(nodes_of(each, names))}
            for each in record.rejected()
        ],
        "passed": [name for name in passed if name],
        "scores": [{"node": name, "score": score} for name, score in zip(names, record.scores, strict=False)],
    }


class DecisionDocuments:
    """The documents about decisions. `source`: None if this console has no source of decisions."""

    def __init__(self, source: DecisionSource | None) -> None:
        self._source = source

    @property
    def by_path(self) -> Mapping[str, Document]:
        """The application's documents by path."""
        return {"/api/decisions": self.decisions, "/api/decision": self.decision}

    def decisions(self, query: Query) -> bytes | Refusal:
        """Return the decisions that match a verb, a reason and a text, the newest first, with counts by verb and by
        reason."""
        found = self._all()
        if isinstance(found, Refusal):
            return found
        verb, reason, text = (query.get(name, "") for name in ("verb", "reason", "filter"))
        matching = [each for each in found if _has(each, verb, reason) and _has_text(each, text.strip().lower())]
        return orjson.dumps(
            {
                "count": len(found),
                "matching": len(matching),
                "verbs": _counted(each.record["verb"] for each in found),
                "reasons": _counted(reason for each in found for reason in _reasons(each)),
                "decisions": [{"key": each.key, **each.record} for each in reversed(matching[-MAX_SHOWN:])],
            }
        )

    def decision(self, query: Query) -> bytes | Refusal:
        """Return one decision with its nodes."""
        found = self._all()
        if isinstance(found, Refusal):
            return found
        key = query.get("key", "")
        decision = next((each for each in found if each.key == key), None)
        if decision is None:
            return Refusal(404, Outcome.UNKNOWN_PATH, "this decision is not kept any more")
        return orjson.dumps(decision.details())

    def _all(self) -> Sequence[Decision] | Refusal:
        if self._source is None:
            return Refusal(404, Outcome.UNKNOWN_PATH, NO_DECISIONS)
        found = self._source.all()
        if isinstance(found, NotRead):
            return Refusal(503, Outcome.NOT_READY, found.reason)
        return [each for each in found if not is_of_pod(each.record, PROBE_NAMESPACE, PROBE_NAME)]


def _has(decision: Decision, verb: str, reason: str) -> bool:
    return (not verb or decision.record["verb"] == verb) and (not reason or reason in _reasons(decision))


def _has_text(decision: Decision, text: str) -> bool:
    """Return whether the record contains the text, or has a verdict on the node with this name."""
    if not text:
        return True
    record = decision.record
    texts = [*(str(record[name]) for name in ("verb", "outcome", "profile", "error")), *nodes_named(record)]
    texts += [f"{record['namespace']}/{record['name']}", *_reasons(decision)]
    texts += [reason["plugin"] for reason in record["reasons"]]
    return any(text in each.lower() for each in texts) or decision.judges(text)


def _reasons(decision: Decision) -> set[str]:
    return {each["reason"] for each in decision.record["reasons"]}


def _counted(texts: Iterable[str]) -> list[tuple[str, int]]:
    """Count equal texts, the most frequent first."""
    return sorted(Counter(texts).items(), key=lambda item: (-item[1], item[0]))
