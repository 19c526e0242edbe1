"""Announcements of pods."""

from __future__ import annotations

from berth.ledger.announcements import Announcement, pod_on_node
from tests.builders.pods import pod_object


def announcement(
    position: int = 1,
    name: str = "p",
    node: str = "node-a",
    *,
    attempt: str = "",
    resource_version: str = "10",
    until: float = 100.0,
    withdrawn: bool = False,
) -> Announcement:
    """Return the announcement of a pod on a node. attempt: by default, one per position."""
    placed = pod_on_node(pod_object(name), node, ())
    assert isinstance(placed, tuple)
    return Announcement(position, attempt or f"attempt-{position}", *placed, resource_version, until, withdrawn)
