"""Which pods are exempt from the policy."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from berth.scheduling.objects import Pod
from berth.scheduling.objects.daemon_set_pod import has_daemon_set, is_daemon_set_pod

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""The priority of `system-cluster-critical`; users' classes end at 1,000,000,000."""


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
