"""What `berth simulate` prints: a line for each pod, each pod with all nodes, or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import orjson

from berth.scheduling.framework.status import Code
from berth_cli.simulate import evictions
from berth_cli.simulate.queue import Queue
from berth_cli.simulate.scheduler.control_loop import Outcome

NOWHERE = "<none>"
_HEAD = ("NAMESPACE", "POD", "PRIORITY", "NODE", "MESSAGE")


class Format(StrEnum):
    """The forms of `-o`."""

    TABLE = "table"
    JSON = "json"


@dataclass(slots=True)
class Summary:
    """Counts the outcomes that pass through it."""

    queue: Queue
    unreadable: Mapping[str, int]
    placed: int = 0
    pending: int = 0
    evicted: int = 0

    def counting(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """The same outcomes."""
        for outcome in outcomes:
            if outcome.node:
                self.placed += 1
            else:
                self.pending += 1
            if outcome.preemption is not None:
                self.evicted += len(outcome.preemption.victims)
            yield outcome

    def lines(self) -> Iterator[str]:
        """For reading: what became of the pods, who was left out, and why."""
        if self.placed or self.pending:
            yield f"{self.placed} of {self.placed + self.pending} pods placed"
        else:
            yield "no pods to place"
        if self.evicted:
            yield f"evicted: {self.evicted}"
        for reason, count in sorted(self.queue.skipped.items()):
            yield f"left out: {count} {reason}"
        if self.queue.other_schedulers:
            yield f"schedulers of these: {', '.join(sorted(self.queue.other_schedulers))} (see --scheduler-name)"
        for cause, count in self.unreadable.items():
            yield f"left out: {count} unreadable ({cause})"

    def document(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "placed": self.placed,
            "pending": self.pending,
            "evicted": self.evicted,
            "skipped": {str(reason): count for reason, count in sorted(self.queue.skipped.items())},
            "otherSchedulers": sorted(self.queue.other_schedulers),
            "unreadable": dict(self.unreadable),
        }


def table(outcomes: Iterable[Outcome], summary: Summary) -> Iterator[str]:
    """A line for each pod. Nothing is given before the last of them is known: the columns are as wide as they must."""
    rows = [
        (each.pod.namespace, each.pod.name, str(each.pod.priority or 0), each.node or NOWHERE, _message(each))
        for each in outcomes
    ]
    if rows:
        widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
        for row in (_HEAD, *rows):
            yield _aligned(row, widths)
        yield ""
    yield from summary.lines()


def explained(outcomes: Iterable[Outcome], summary: Summary) -> Iterator[str]:
    """Each pod with every node: totals of those it could go to, best first, and who rejected the others, and why.

    Below it, who had to go for it, and why not on another node.
    """
    for outcome in outcomes:
        where = " ".join(filter(None, (outcome.node, _devices(outcome)))) if outcome.node else outcome.message
        yield f"{outcome.pod.namespace}/{outcome.pod.name}: {where}"
        rows = [(node, "", f"total {total}") for node, total in _ranked(outcome)]
        if not outcome.totals:
            rows = [(node, "", "the only one left") for node in outcome.candidates]
        rows += [(node, status.plugin, status.message) for node, status in outcome.rejected.items()]
        for part in (rows, list(evictions.rows(outcome))):
            widths = [max(map(len, column)) for column in zip(*part, strict=True)]
            for row in part:
                yield f"  {_aligned(row, widths)}"
        yield ""
    yield from summary.lines()


def document(outcomes: Iterable[Outcome], summary: Summary, *, in_full: bool) -> Iterator[str]:
    """One JSON object, a line for each pod, written as the pods are placed. in_full: with the totals of all nodes."""
    yield '{"pods": ['
    separator = " "
    for outcome in outcomes:
        yield f"{separator}{orjson.dumps(_pod(outcome, in_full)).decode()}"
        separator = ","
    yield f'], "summary": {orjson.dumps(summary.document()).decode()}}}'


def _pod(outcome: Outcome, in_full: bool) -> dict[str, object]:
    found: dict[str, object] = {
        "namespace": outcome.pod.namespace,
        "name": outcome.pod.name,
        "priority": outcome.pod.priority or 0,
        "node": outcome.node or None,
        "message": outcome.message or None,
    }
    preemption = evictions.as_json(outcome.preemption)
    if preemption:
        found["preemption"] = preemption
    if outcome.devices:
        found["devices"] = dict(outcome.devices)
    nodes = _nodes(outcome, in_full)
    if nodes:
        found["nodes"] = nodes
    return found


def _message(outcome: Outcome) -> str:
    return "; ".join(filter(None, (outcome.message, _devices(outcome), evictions.in_a_line(outcome.preemption))))


def _nodes(outcome: Outcome, in_full: bool) -> dict[str, dict[str, object]]:
    nodes: dict[str, dict[str, object]] = {}
    if in_full:
        nodes = {name: {"status": Code.SUCCESS.value} for name in outcome.candidates}
        for name, total in zip(outcome.candidates, outcome.totals, strict=False):
            nodes[name]["total"] = total
    for name, status in outcome.rejected.items():
        nodes[name] = {"status": status.code.value, "plugin": status.plugin, "reasons": status.reasons}
    return nodes


def _ranked(outcome: Outcome) -> list[tuple[str, int]]:
    return sorted(
        zip(outcome.candidates, outcome.totals, strict=False) if outcome.totals else (),
        key=lambda pair: (-pair[1], pair[0]),
    )


def _devices(outcome: Outcome) -> str:
    """Of counted resources, which of the node's devices the pod has."""
    return ", ".join(f"device {index} of {resource}" for resource, index in outcome.devices.items())


def _aligned(row: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
