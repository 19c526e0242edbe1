"""Proposals to end pods on a node: what they hold becomes free, and rules about them do not apply any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from berth.scheduling.fields.resources import PODS, shown_amount
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option

MOST_PODS = 5
"""Nobody ends more pods for one."""

MOST_OPTIONS = 8

Held = Callable[[Pod], Mapping[str, int]]
"""What a pod holds, by resource."""


def free(node: NodeInfo, shortages: Mapping[str, int], held: Held) -> Iterator[Option]:
    """End the fewest pods that hold what is missing; DaemonSets would start theirs again."""
    amounts = {pod.uid: {**held(pod), PODS: 1} for pod in _removable(node)}

    def share(pod: Pod) -> float:
        """How much of what is missing it gives free, at most 1 for each resource."""
        own = amounts[pod.uid]
        return sum(min(1.0, own.get(name, 0) / missing) for name, missing in shortages.items() if missing)

    def excess(pod: Pod) -> tuple[int, float]:
        own = amounts[pod.uid]
        return pod.priority or 0, sum(own.get(name, 0) / missing for name, missing in shortages.items() if missing)

    holders = [pod for pod in _removable(node) if share(pod) > 0]
    alone = [pod for pod in holders if share(pod) >= len([each for each in shortages.values() if each])]
    for pod in sorted(alone, key=excess)[:MOST_OPTIONS]:
        yield (_end(node.name, (pod,), shortages, amounts),)
    several = sorted(holders, key=lambda pod: (pod.priority or 0, -share(pod), pod.uid))[:MOST_PODS]
    for count in range(2, len(several) + 1):
        yield (_end(node.name, several[:count], shortages, amounts),)


def end_one(node: NodeInfo, matters: Callable[[Pod], bool]) -> Iterator[Option]:
    """End one pod of the node that a rule may be about."""
    found = sorted((pod for pod in _removable(node) if matters(pod)), key=lambda pod: (pod.priority or 0, pod.uid))
    for pod in found[:MOST_OPTIONS]:
        yield (_end(node.name, (pod,), {}, {}),)


def _removable(node: NodeInfo) -> list[Pod]:
    return [pod for pod in node.pods if pod.controller_kind not in ("DaemonSet", "Node")]


def _end(
    node: str, pods: Sequence[Pod], shortages: Mapping[str, int], amounts: Mapping[str, Mapping[str, int]]
) -> Change:
    wanted = {name: amount for name, amount in shortages.items() if amount}
    holds = ", ".join(f"{pod.namespace}/{pod.name}{_holding(amounts.get(pod.uid, {}), wanted)}" for pod in pods)
    missing = " and ".join(
        "room for a pod" if name == PODS else f"{shown_amount(name, amount)} {name}" for name, amount in wanted.items()
    )
    text = f"free {missing} on node {node}: end {holds}" if missing else f"end {holds} on node {node}"
    uids = frozenset(pod.uid for pod in pods)
    return Change(
        ChangeKind.END_PODS,
        text,
        ",".join(sorted(wanted)),
        lambda case: case.without_pods(node, uids),
        node,
        len(pods) + sum((pod.priority or 0) > 0 for pod in pods) / 10,
        {
            "pods": [f"{pod.namespace}/{pod.name}" for pod in pods],
            "free": {name: shown_amount(name, amount) for name, amount in wanted.items()},
        },
    )


def _holding(own: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    held = [f"{shown_amount(name, own[name])} {name}" for name in wanted if name != PODS and own.get(name)]
    return f" (holds {', '.join(held)})" if held else ""
