"""The output of `berth simulate`: one line per pod, each pod with all nodes, or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from berth.scheduling.framework.plugin import Code
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.priority import priority_of
from berth_cli.placement.queue import Queue, SkipReason
from berth_cli.placement.scheduler.control_loop import EXTENDER, Outcome
from berth_cli.placement.scheduler.preemption import Preemption
from berth_cli.terminal.input_files import InvalidInput
from berth_cli.terminal.output import examples, table_lines

NO_NODE_TEXT = "<none>"
NO_PODS = "no pods to place: no pod of the dump waits for a node; create pods and dump again, or give --pod FILE"
_HEADER = ("NAMESPACE", "POD", "PRIORITY", "NODE", "MESSAGE")


@dataclass(slots=True)
class Summary:
    """Counts the outcomes that pass through `count`."""

    queue: Queue
    unused: Mapping[str, int]
    placed: int = 0
    pending: int = 0
    evicted: int = 0

    def count(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        """Yield the outcomes unchanged and count them."""
        for outcome in outcomes:
            if outcome.node:
                self.placed += 1
            else:
                self.pending += 1
            if outcome.preemption is not None:
                self.evicted += len(outcome.preemption.victims)
            yield outcome

    def lines(self) -> Iterator[str]:
        """Yield the summary as text lines."""
        if self.placed or self.pending:
            yield f"{self.placed} of {self.placed + self.pending} pods placed"
        else:
            yield NO_PODS
        if self.evicted:
            yield f"evicted: {self.evicted}"
        yield from left_out(self.queue, self.unused)

    def document(self) -> dict[str, object]:
        """Return the summary as a JSON object."""
        return {
            "placed": self.placed,
            "pending": self.pending,
            "evicted": self.evicted,
            "skipped": {str(reason): count for reason, count in sorted(self.queue.skipped.items())},
            "otherSchedulers": sorted(self.queue.other_schedulers),
            "leftOut": dict(self.unused),
        }


def left_out(queue: Queue, unused: Mapping[str, int]) -> Iterator[str]:
    """Yield the pods and objects that the simulation does not place or read, as text lines."""
    yield from (f"left out: {text}" for text in _skipped(queue).values())
    yield from (f"left out: {count} {reason}" for reason, count in unused.items())


def require_pods(queue: Queue, where: str) -> None:
    """Raise InvalidInput if pods wait but none of them is in the queue: no pod would be evaluated."""
    skipped = _skipped(queue)
    waiting = [skipped[each] for each in (SkipReason.ANOTHER_SCHEDULER, SkipReason.GATED) if each in skipped]
    if waiting and not queue.pods:
        raise InvalidInput(f"{where}: no pods to place: {'; '.join(waiting)}")


def _skipped(queue: Queue) -> dict[SkipReason, str]:
    """Format the number of skipped pods by reason, with the remedy for pods that wait."""
    found = {reason: f"{pods_text(count)} {reason}" for reason, count in sorted(queue.skipped.items())}
    if SkipReason.GATED in found:
        found[SkipReason.GATED] += ": remove the scheduling gates"
    if queue.other_schedulers:
        count = queue.skipped[SkipReason.ANOTHER_SCHEDULER]
        found[SkipReason.ANOTHER_SCHEDULER] = other_schedulers_text(count, queue.other_schedulers)
    return found


def other_schedulers_text(count: int, names: Sequence[str]) -> str:
    """Format the number of pods of other schedulers, the schedulers' names, and the remedy."""
    return (
        f"{pods_text(count)} {SkipReason.ANOTHER_SCHEDULER} ({', '.join(names)}): give --scheduler-name {names[0]}, or "
        "name the scheduler in `profiles` of the policy"
    )


def pods_text(count: int) -> str:
    """Format a number of pods: `1 pod`, `2 pods`."""
    return f"{count} pod{'' if count == 1 else 's'}"


def table(outcomes: Iterable[Outcome], summary: Summary) -> Iterator[str]:
    """Yield one line per pod. The column widths depend on all outcomes, so the first line is yielded after the last
    outcome."""
    rows = [
        (each.pod.namespace, each.pod.name, str(each.pod.priority or 0), each.node or NO_NODE_TEXT, _message(each))
        for each in outcomes
    ]
    if rows:
        yield from table_lines([_HEADER, *rows])
        yield ""
    yield from summary.lines()


def explained(outcomes: Iterable[Outcome], summary: Summary) -> Iterator[str]:
    """Yield each pod with all nodes: feasible nodes with their total scores, the best first; then rejected nodes with
    plugin and reason; then the pods that it evicts."""
    for outcome in outcomes:
        where = " ".join(filter(None, (outcome.node, _devices(outcome)))) if outcome.node else outcome.message
        yield f"{outcome.pod.namespace}/{outcome.pod.name}: {where}"
        rows = [
            (node, "", f"total {total}{_shares(scores)}" if outcome.totals else "only candidate")
            for node, total, scores in outcome.ranking
        ]
        rows += [(node, status.plugin, status.message) for node, status in outcome.rejected.items()]
        yield from table_lines(rows, "  ")
        if evictions := eviction_text(outcome.preemption):
            yield f"  {evictions}"
        yield ""
    yield from summary.lines()


def document(outcomes: Iterable[Outcome], summary: Summary, *, explain_placed: bool) -> Iterator[str]:
    """Yield the parts of one JSON document, a line for each pod as soon as it is placed. `explain_placed`: include the
    nodes of placed pods, with their total scores."""
    yield '{"pods": ['
    separator = " "
    for outcome in outcomes:
        yield f"{separator}{orjson.dumps(_pod(outcome, explain_placed)).decode()}"
        separator = ","
    yield f'], "summary": {orjson.dumps(summary.document()).decode()}}}'


def _pod(outcome: Outcome, explain_placed: bool) -> dict[str, object]:
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
    nodes = _nodes(outcome, explain_placed)
    if nodes:
        found["nodes"] = nodes
    return found


def _message(outcome: Outcome) -> str:
    return "; ".join(filter(None, (outcome.message, _devices(outcome), eviction_text(outcome.preemption))))


def _nodes(outcome: Outcome, explain_placed: bool) -> dict[str, dict[str, object]]:
    nodes: dict[str, dict[str, object]] = {}
    for name, total, scores in outcome.ranking if explain_placed else ():
        nodes[name] = {"status": Code.SUCCESS.value}
        if outcome.totals:
            nodes[name] |= {"total": total, "scores": scores}
    for name, status in outcome.rejected.items():
        nodes[name] = {
            "status": status.code.value,
            "plugin": status.plugin,
            "reasons": status.reasons,
            "reasonCodes": status.reason_codes,
        }
    return nodes


def _shares(scores: Mapping[str, int]) -> str:
    """Format the scores other than 0, and Berth's score even if it is 0."""
    parts = [f"{plugin} {score}" for plugin, score in scores.items() if score or plugin == EXTENDER]
    return f" = {' + '.join(parts)}" if parts else ""


def _devices(outcome: Outcome) -> str:
    """Return the devices that the pod uses, by counted resource."""
    return ", ".join(f"device {index} of {resource}" for resource, index in outcome.devices.items())


def eviction_text(preemption: Preemption | None) -> str:
    """Return the evictions, or the evicted pods that are still there, in one line; empty without evictions."""
    if preemption is None or preemption.nominated is None:
        return waiting_text(preemption)
    text = f"evicts {', '.join(_name(victim) for victim in preemption.victims)}"
    budgets = sorted({budget for each in preemption.violated.values() for budget in each})
    if budgets:
        text += f" (violates {', '.join(budgets)})"
    reasons = Counter(map(str, preemption.others().values()))
    others = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return f"{text}; other nodes: {others}" if others else text


def waiting_text(preemption: Preemption | None) -> str:
    """Name the preempted pods for whose deletion the pod waits; empty if it does not wait."""
    if preemption is None or not preemption.waits_for:
        return ""
    pods = preemption.waits_for
    names, verb = examples([_name(pod) for pod in pods]), "is" if len(pods) == 1 else "are"
    return f"waits for {names} on {pods[0].node_name}, which {verb} being deleted"


def eviction_document(preemption: Preemption | None) -> dict[str, object] | None:
    """Return the evictions, or why the pod may not preempt, as a JSON object; otherwise None."""
    if preemption is not None and preemption.ineligible is not None:
        return {"reason": preemption.ineligible, "waitsFor": [_name(pod) for pod in preemption.waits_for]}
    if preemption is None or preemption.nominated is None:
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
