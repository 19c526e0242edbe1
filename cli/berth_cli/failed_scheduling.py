"""The message of a pod's FailedScheduling event, as kube-scheduler words it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

NO_NODES = "no nodes available to schedule pods"


def fit_error(nodes: int, reasons: Iterable[str], ineligible: str | None = None) -> str:
    """`reasons`: of every node that was dropped, all of them; equal ones are counted, and sorted as text.

    ineligible: why the pod may not preempt.
    """
    counted = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return _message(nodes, ", ".join(counted), ineligible)


def rejected_as_such(nodes: int, reason: str, ineligible: str | None = None) -> str:
    """For a pod that no node was looked at for: the reason is given once and not counted."""
    return _message(nodes, reason, ineligible)


def _message(nodes: int, text: str, ineligible: str | None) -> str:
    message = f"0/{nodes} nodes are available:" + (f" {text}." if text else "")
    return message if ineligible is None else f"{message} preemption: {ineligible}"
