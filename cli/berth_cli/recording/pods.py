"""What a decision depended on besides the state, read again from the lines of a recording: the pod, the pods that were
being bound, and the gangs that were."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth.scheduling.snapshot.assumed_pods import AssumedPod
from berth_cli.recording.format import AssumedPodLine, OpenGangLine

MOST_PODS = 1_000


class PodsOfDecisions:
    """Reads the pods of decisions. A pod has several, one soon after the other."""

    def __init__(self, most: int = MOST_PODS) -> None:
        self._most = most
        self._known: OrderedDict[str, tuple[Mapping[str, object], Pod]] = OrderedDict()

    def read(self, obj: Mapping[str, object]) -> Pod:
        """Raises ValueError."""
        metadata = obj.get("metadata")
        uid = str(metadata.get("uid")) if isinstance(metadata, dict) else ""
        known = self._known.get(uid)
        if known is not None and known[0] == obj:
            return known[1]
        found = pod_of_object(obj)
        self._known[uid] = obj, found
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


def pod_of_object(obj: Mapping[str, object]) -> Pod:
    """Raises ValueError."""
    found = read_pod(obj)
    if isinstance(found, UnreadableObject):
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
