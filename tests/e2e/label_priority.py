"""The profile `label-priority` as its users know it: the label and the reasons in a pod's events."""

from __future__ import annotations

LABEL = "priority.lixueduan.com"

NO_LABEL = "node(s) didn't have the priority label"
NOT_AN_INTEGER = "node(s) had a priority label that is not an integer"


def priority(value: int | str) -> dict[str, str]:
    """The label with this value."""
    return {LABEL: str(value)}


def none_available(reasons: dict[str, int]) -> str:
    """How the event of a pod begins that fits on no node, for these reasons and how many nodes have each."""
    nodes = sum(reasons.values())
    # The scheduler sorts the counted reasons as text.
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {listed}."
