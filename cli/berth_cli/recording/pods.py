"""What a decision depended on besides the state, read again from the lines of a recording: the pod, the pods that were
being bound, and the gangs that were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.objects import Pod, Unreadable, read_pod
from berth.scheduling.snapshot.assumed_pods import AssumedPod
from berth_cli.recording.format import AssumedPodLine, OpenGangLine


def pod_of_object(obj: Mapping[str, object]) -> Pod:
    """Raises ValueError."""
    found = read_pod(obj)
    if isinstance(found, Unreadable):
        raise ValueError(found.cause)
    return found


def assumed_pod(line: AssumedPodLine) -> AssumedPod:
    """Raises ValueError."""
    pod = None if line.pod is None else pod_of_object(line.pod)
    return AssumedPod(line.namespace, line.name, line.uid, line.node, line.shares, pod)


def open_gangs(lines: Sequence[OpenGangLine]) -> tuple[OpenGang, ...]:
    """As the planner takes them."""
    return tuple(
        OpenGang(GangKey(each.namespace, each.name), each.priority, each.members, each.is_committed) for each in lines
    )
