"""An announcement, and when it ends. Pure.

The node cache is behind: for some time after a bind it does not show the pod on its node. Until it does, the pod's
announcement stands for the pod.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

import orjson

from berth.extender.ports import PodCoverage
from berth.scheduling.objects import Pod, UnreadableObject, trimmed_pod
from berth.scheduling.objects.pod_reading import read_placed_pod
from berth.scheduling.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Announcement:
    """A pod that one call of bind lets onto a node.

    position: in the log. attempt: the id of the call, unique. pod: on its node, as the cache will show it. content: the
    same as JSON. resource_version: of the pod as the call read it, unbound; a Binding is valid for this version only.
    until: no Binding of the call takes effect later, in seconds since the epoch. withdrawn: none has taken effect, and
    none will.
    """

    position: int
    attempt: str
    pod: Pod
    content: bytes = field(repr=False)
    resource_version: str
    until: float
    withdrawn: bool = False


def pod_on_node(
    obj: Mapping[str, object], node: str, annotations: Container[str]
) -> tuple[Pod, bytes] | UnreadableObject:
    """The pod as the cache will show it on this node, with these of its annotations, and the same as JSON."""
    spec = obj.get("spec")
    placed = trimmed_pod({**obj, "spec": {**(spec if isinstance(spec, dict) else {}), "nodeName": node}}, annotations)
    pod = read_placed_pod(placed)
    return pod if isinstance(pod, UnreadableObject) else (pod, orjson.dumps(placed))


def has_ended(announcement: Announcement, snapshot: Snapshot, coverage: PodCoverage) -> bool:
    """Whether the announcement no longer stands for a pod: in this snapshot, and so in every later one."""
    pod = announcement.pod
    node = snapshot.nodes.get(pod.node_name)
    if announcement.withdrawn or (node is not None and any(each.uid == pod.uid for each in node.pods)):
        return True
    covered = coverage.covers(announcement.resource_version)
    if covered and pod.uid not in snapshot.unbound:
        # The cache had the pod, so the pod has ended or is on another node.
        return True
    return covered is not False and coverage.observed_at > announcement.until
