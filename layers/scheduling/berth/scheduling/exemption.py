"""Which pods are exempt from the policy: by their namespace or priority, and those of DaemonSets.

An owner reference proves nothing: whoever creates a pod writes it, and the API server does not check that the owner
exists. What else the DaemonSet controller sets ties the pod to one node, and lets it stay there whatever happens to the
node.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from berth.scheduling.fields.taints import NO_EXECUTE, NO_SCHEDULE, Taint, TolerationIndex
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodSpec

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""The priority of `system-cluster-critical`; users' classes end at 1,000,000,000."""

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


class Exemption(BaseModel):
    """Which pods pass every node of the request, whatever the profile says.

    daemonSets: those that the DaemonSet controller made, as far as a pod can tell (see `is_daemon_set_pod`).
    systemCritical: those of a priority of 2,000,000,000 or more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    daemon_sets: bool = Field(default=True, alias="daemonSets", strict=True)
    system_critical: bool = Field(default=True, alias="systemCritical", strict=True)
    namespaces: frozenset[str] = frozenset({"kube-system"})

    def covers(self, pod: Pod) -> bool:
        """Whether this pod is exempt."""
        spec = pod.spec
        return (
            pod.label_set.namespace in self.namespaces
            or (self.daemon_sets and is_daemon_set_pod(pod))
            or (self.system_critical and (spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY)
        )

    def covered(self, pod: Pod) -> bool:
        """Whether this pod was exempt when it got to its node. What is kept of it then shows neither the affinity nor
        the tolerations of a DaemonSet's pod, so its owner decides."""
        return self.covers(pod) or (self.daemon_sets and bool(pod.node_name) and has_daemon_set(pod))


def has_daemon_set(pod: Pod) -> bool:
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
