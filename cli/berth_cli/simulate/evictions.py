"""How `berth simulate` tells who had to go for a pod, which budgets that violates, and why not on another node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from berth.scheduling.objects import Pod
from berth.scheduling.preemption.evaluator import Preemption
from berth.scheduling.preemption.priority import priority_of
from berth_cli.simulate.scheduler.control_loop import Outcome


def in_a_line(preemption: Preemption | None) -> str:
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


def rows(outcome: Outcome) -> Iterator[tuple[str, str, str]]:
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


def as_json(preemption: Preemption | None) -> dict[str, object] | None:
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
