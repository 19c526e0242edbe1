"""The label of the profile `label-priority` and its reasons in events."""

from __future__ import annotations

LABEL = "priority.lixueduan.com"

NO_LABEL = "node(s) didn't have the priority label priority.lixueduan.com"


def priority(value: int | str) -> dict[str, str]:
    return {LABEL: str(value)}


def none_available(reasons: dict[str, int]) -> str:
    """Return the beginning of the FailedScheduling message. reasons: the number of nodes by reason."""
    nodes = sum(reasons.values())
    # The scheduler sorts the reasons with their counts as text.
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {listed}."
