"""The decisions of the verbs in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from threading import Lock

from berth.decisions.call_record import CallRecord
from berth.decisions.document import call_document, document, nodes_of
from berth.decisions.recent import RecentDecisions
from berth.decisions.record import Record
from berth_cli.console.decisions.numbers import Numbers
from berth_cli.console.decisions.source import MOST_AT_ONCE, DecisionSource, without_verdicts
from berth_cli.console.health.calls import Call

SUMMARY_NODES = 30
"""Of each reason: a page filters by parts of their names, and shows the reasons of few nodes with all of these."""


class DecisionsHere(DecisionSource):
    """Those that `berth serve --console` keeps in memory."""

    def __init__(self, recent: RecentDecisions) -> None:
        self._recent = recent
        self._lock = Lock()
        self._numbers: Numbers[Record | CallRecord] = Numbers(id)

    def after(self, number: int) -> Sequence[Mapping[str, object]]:
        with self._lock:
            self._numbers.renew(self._kept())
            found = self._numbers.after(number, MOST_AT_ONCE)
        return [{"number": each, **_summary(record)} for each, record in found]

    def details(self, number: int) -> Mapping[str, object] | None:
        with self._lock:
            record = self._numbers.get(number)
        return None if record is None else {"number": number, **_details(record)}

    def calls(self) -> Sequence[Call]:
        return [Call(each.at, each.verb, each.milliseconds) for each in self._kept()]

    def of_pod(self, namespace: str, name: str) -> Sequence[Mapping[str, object]]:
        return [_summary(each) for each in self._kept() if _name_of(each) == (namespace, name)]

    def of_node(self, node: str) -> Sequence[int]:
        with self._lock:
            known = self._numbers.after(0)
        return [number for number, each in known if isinstance(each, Record) and each.judges(node)]

    def _kept(self) -> list[Record | CallRecord]:
        return sorted([*self._recent.all(), *self._recent.calls()], key=lambda record: record.at)


def _name_of(record: Record | CallRecord) -> tuple[str, str]:
    pod = record if isinstance(record, CallRecord) else record.pod
    return pod.namespace, pod.name


def _summary(record: Record | CallRecord) -> dict[str, object]:
    if isinstance(record, CallRecord):
        return call_document(record)
    return document(record, record.names(), most_examples=SUMMARY_NODES)


def _details(record: Record | CallRecord) -> dict[str, object]:
    """With every node, where the record has verdicts on nodes."""
    if isinstance(record, CallRecord):
        return without_verdicts(call_document(record))
    names = record.names()
    rejected = [
        {"reason": each.reason, "plugin": each.plugin, "count": each.count, "nodes": list(nodes_of(each, names))}
        for each in record.rejected()
    ]
    passed = compress(names, record.mask) if record.mask else names
    return {
        **document(record, names, by_plugin=True),
        "rejected": rejected,
        "passed": [name for name in passed if name],
        "scores": [{"node": name, "score": score} for name, score in zip(names, record.scores, strict=False)],
    }
