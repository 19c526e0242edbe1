"""Victims that are equal in priority and start time: which of them survives depends on the order of the pods.

kube-scheduler goes through equal pods in the order in which they came to the node, which no object records. So Berth
is correct if kube-scheduler would choose the same victims for another order of the pods.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from tests.parity.differences import candidate
from tests.parity.responder import Answer, Case

MOST_ORDERS = 500
"""The maximum number of orders to try for one node. Six equal pods have 720 orders; more equal pods are rare."""


def in_berths_order(case: Case, oracle: Answer, berth: Answer, ask: Callable[[Case], Answer]) -> Answer:
    """Return the oracle's answer for an order of equal pods that gives Berth's candidates, or its original answer."""
    wanted = (berth.get("preemption") or {}).get("candidates") or {}
    for node in sorted(wanted):
        if _candidate(oracle, node) == candidate(wanted[node]):
            continue
        for reordered in itertools.islice(_orders(case, node), MOST_ORDERS):
            answer = ask(reordered)
            if _candidate(answer, node) == candidate(wanted[node]):
                case, oracle = reordered, answer
                break
    return oracle


def _candidate(answer: Answer, node: str) -> object:
    return candidate(((answer.get("preemption") or {}).get("candidates") or {}).get(node))


def _orders(case: Case, node: str) -> Iterator[Case]:
    """Yield the case with each order of the node's equal pods."""
    groups: defaultdict[object, list[int]] = defaultdict(list)
    for position, other in enumerate(case["objects"]):
        if other["kind"] == "Pod" and other["spec"].get("nodeName") == node:
            groups[_importance(other)].append(position)
    equal = [positions for positions in groups.values() if len(positions) > 1]
    if not equal:
        return
    for permuted in itertools.product(*(itertools.permutations(positions) for positions in equal)):
        objects = list(case["objects"])
        for positions, sources in zip(equal, permuted, strict=True):
            for position, source in zip(positions, sources, strict=True):
                objects[position] = case["objects"][source]
        yield {**case, "objects": objects}


def _importance(pod: dict[str, Any]) -> object:
    return pod["spec"].get("priority") or 0, pod.get("status", {}).get("startTime")
