"""What `berth simulate` prints: a line for each pod, each pod with all nodes, or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import orjson

from berth.scheduling.objects import Pod
from berth.scheduling.preemption.evaluator import Preemption
from berth.scheduling.preemption.priority import priority_of
from berth.scheduling.status import Code
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
        for part in (rows, list(eviction_rows(outcome))):
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
    preemption = eviction_document(outcome.preemption)
    if preemption:
        found["preemption"] = preemption
    if outcome.devices:
        found["devices"] = dict(outcome.devices)
    nodes = _nodes(outcome, in_full)
    if nodes:
        found["nodes"] = nodes
    return found


def _message(outcome: Outcome) -> str:
    return "; ".join(filter(None, (outcome.message, _devices(outcome), eviction_text(outcome.preemption))))


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


def eviction_text(preemption: Preemption | None) -> str:
    """Empty where nobody had to go."""
    if preemption is None or preemption.nominated is None:
        return ""
    text = f"evicts {', '.join(_name(victim) for victim in preemption.victims)}"
    budgets = sorted({budget for each in preemption.violated.values() for budget in each})
    if budgets:
        text += f" (violates {', '.join(budgets)})"
    reasons = Counter(map(str, preemption.others().values()))
    others = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return f"{text}; other nodes: {others}" if others else text


def eviction_rows(outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    """For `--explain`: a row for each victim, and one for each other node."""
    preemption = outcome.preemption
    if preemption is None or not preemption.tied:
        return
    for victim in preemption.victims:
        violated = preemption.violated.get(victim.uid, ())
        text = f"priority {priority_of(victim)}" + (f", violates {', '.join(violated)}" if violated else "")
        yield "evicted", _name(victim), text
    for node, reason in preemption.others().items():
        candidate = preemption.candidates.get(node)
        names = f" ({', '.join(map(_name, candidate.pods))})" if candidate else ""
        yield "not on", node, f"{reason}{names}"


def eviction_document(preemption: Preemption | None) -> dict[str, object] | None:
    """None of a pod that fitted somewhere, and where no eviction helps: then the nodes say why not."""
    if preemption is None:
        return None
    if preemption.ineligible is not None:
        return {"reason": preemption.ineligible}
    if preemption.nominated is None:
        return None
    return {
        "node": preemption.nominated,
        "victims": [
            {
                "namespace": victim.namespace,
                "name": victim.name,
                "uid": victim.uid,
                "priority": priority_of(victim),
                "violates": list(preemption.violated.get(victim.uid, ())),
            }
            for victim in preemption.victims
        ],
        "numPDBViolations": preemption.candidates[preemption.nominated].num_pdb_violations,
        "otherNodes": {node: _other(preemption, node, reason) for node, reason in preemption.others().items()},
    }


def _other(preemption: Preemption, node: str, reason: str) -> dict[str, object]:
    candidate = preemption.candidates.get(node)
    if candidate is None:
        return {"reason": reason}
    victims = [_name(victim) for victim in candidate.pods]
    return {"reason": reason, "victims": victims, "numPDBViolations": candidate.num_pdb_violations}


def _name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"
