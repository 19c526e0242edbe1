"""The message of a pod's FailedScheduling event, as kube-scheduler words it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

NO_NODES = "no nodes available to schedule pods"


def fit_error(nodes: int, reasons: Iterable[str]) -> str:
    """`reasons`: of every node that was dropped, all of them; equal ones are counted, and sorted as text."""
    counted = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return _message(nodes, ", ".join(counted))


def rejected_as_such(nodes: int, reason: str) -> str:
    """For a pod that no node was looked at for: the reason is given once and not counted."""
    return _message(nodes, reason)


def _message(nodes: int, text: str) -> str:
    return f"0/{nodes} nodes are available:" + (f" {text}." if text else "")
