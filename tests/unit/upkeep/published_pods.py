"""Projected pods as the watcher publishes them, and their changes."""

from __future__ import annotations

from collections.abc import Mapping

from berth.nodecache.feed.changes import Change

GANG = {"berth.dev/gang": "train"}


def pod(
    *,
    node: str = "",
    phase: str = "Pending",
    uid: str = "1",
    rejected: bool = False,
    nominated: str = "",
    labels: Mapping[str, str] | None = None,
    gang: bool = False,
    size: str | None = None,
    shared: str = "{}",
) -> dict[str, object]:
    """Return a pod. nominated: its nominated node. gang: whether it is in the gang `train`. size: its gang's size."""
    annotations = {} if size is None and not gang else GANG if size is None else {**GANG, "berth.dev/gang-size": size}
    if phase in ("Succeeded", "Failed"):
        return {"metadata": {"uid": uid}, "status": {"phase": phase}}
    return {
        "metadata": {"uid": uid, "labels": dict(labels or {}), "annotations": annotations},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, **({"nominatedNodeName": nominated} if nominated else {})},
        "shared": shared,
        **({"rejectedByBerth": True} if rejected else {}),
    }


def pod_change(name: str, found: Mapping[str, object] | None) -> Change:
    """Return the change of a pod; None removes it."""
    return Change("pods", f"default/{name}", found)
