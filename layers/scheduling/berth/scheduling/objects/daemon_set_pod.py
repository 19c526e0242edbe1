"""Pods as the DaemonSet controller makes them.

An owner reference proves nothing: whoever creates a pod writes it, and the API server does not check that the owner
exists. What else the controller sets ties the pod to one node, and lets it stay there whatever happens to the node.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from berth.scheduling.fields.taints import NO_EXECUTE, NO_SCHEDULE, Taint, TolerationIndex
from berth.scheduling.objects.pod import Pod, PodSpec

TOLERATED = (
    Taint("node.kubernetes.io/not-ready", "", NO_EXECUTE),
    Taint("node.kubernetes.io/unreachable", "", NO_EXECUTE),
    Taint("node.kubernetes.io/disk-pressure", "", NO_SCHEDULE),
    Taint("node.kubernetes.io/memory-pressure", "", NO_SCHEDULE),
    Taint("node.kubernetes.io/pid-pressure", "", NO_SCHEDULE),
    Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE),
)
"""What the DaemonSet controller makes every pod tolerate."""


# A pod may have thousands of tolerations, and is asked about several times in each call.
_KNOWN: WeakKeyDictionary[PodSpec, bool] = WeakKeyDictionary()


def has_daemon_set(pod: Pod) -> bool:
    """Whether the pod says that a DaemonSet owns it."""
    owner = pod.spec.controller
    return owner is not None and (owner.kind, owner.api_version) == ("DaemonSet", "apps/v1")


def is_daemon_set_pod(pod: Pod) -> bool:
    """Whether the pod has what the DaemonSet controller gives each: the owner, one node, the tolerations.

    Not for pods that are on a node: what is kept of them has neither affinity to nodes nor tolerations.
    """
    required = pod.spec.node_affinity.required
    if not has_daemon_set(pod):
        return False
    if required is None or required.node_names is None or len(required.node_names) != 1:
        return False
    found = _KNOWN.get(pod.spec)
    if found is None:
        tolerations = TolerationIndex(pod.spec.tolerations)
        found = _KNOWN[pod.spec] = all(map(tolerations.tolerates, TOLERATED))
    return found
