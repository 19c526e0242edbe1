"""What a decision depended on besides the state, as lines of a recording, and read again from them: the pod, the pods
that were being bound, and the gangs that were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import orjson

from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.objects import Pod, Unreadable, read_pod
from berth.scheduling.objects.pod_group import names_gang
from berth.scheduling.snapshot.assumed_pods import AssumedPod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.recording.format import AssumedPodLine, OpenGangLine


def pod_object(pod: Pod) -> Mapping[str, object]:
    """The fields that decisions read."""
    shared = orjson.loads(pod.spec.source) if pod.spec.source else {}
    metadata = {**shared.get("metadata", {}), "name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    metadata |= {
        name: dict(value) for name, value in (("labels", pod.labels), ("annotations", pod.annotations)) if value
    }
    if pod.created_at is not None and names_gang(pod):
        # Gangs are planned by their age.
        metadata["creationTimestamp"] = _timestamp(pod.created_at)
    if pod.terminating:
        # When is of no account.
        metadata["deletionTimestamp"] = _timestamp(pod.created_at or 0.0)
    status = {**shared.get("status", {})}
    if pod.phase:
        status["phase"] = pod.phase
    if pod.nominated_node:
        status["nominatedNodeName"] = pod.nominated_node
    spec = {**shared.get("spec", {})}
    if pod.node_name:
        spec["nodeName"] = pod.node_name
    return {"metadata": metadata, "spec": spec, "status": status}


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def pod_of_object(obj: Mapping[str, object]) -> Pod:
    """Raises ValueError."""
    found = read_pod(obj)
    if isinstance(found, Unreadable):
        raise ValueError(found.cause)
    return found


def assumed_lines(snapshot: Snapshot) -> Iterator[AssumedPodLine]:
    """The pods that are being bound."""
    for node, pods in snapshot.assumed.items():
        for pod in pods:
            known = pod.uid in snapshot.base.unbound
            obj = None if known or not pod.spec.source else pod_object(pod)
            yield AssumedPodLine(pod.namespace, pod.name, pod.uid, node, pod.assumed_shares or {}, obj)


def assumed_pod(line: AssumedPodLine) -> AssumedPod:
    """Raises ValueError."""
    pod = None if line.pod is None else pod_of_object(line.pod)
    return AssumedPod(line.namespace, line.name, line.uid, line.node, line.shares, pod)


def open_gang_lines(gangs: Sequence[OpenGang]) -> list[OpenGangLine]:
    """The gangs that were being bound."""
    return [
        OpenGangLine(each.key.namespace, each.key.name, each.priority, dict(each.members), each.is_committed)
        for each in gangs
    ]


def open_gangs(lines: Sequence[OpenGangLine]) -> tuple[OpenGang, ...]:
    """The same as the planner takes them."""
    return tuple(
        OpenGang(GangKey(each.namespace, each.name), each.priority, each.members, each.is_committed) for each in lines
    )
