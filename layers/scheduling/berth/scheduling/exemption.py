"""Pods that no policy may hold back: the cluster's own agents."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from berth.scheduling.objects import Pod

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""The priority of `system-cluster-critical`; users' classes end at 1,000,000,000."""


class Exemption(BaseModel):
    """Which pods pass every node of the request, whatever the profile says.

    daemonSets: those that a DaemonSet controls. systemCritical: those of a priority of 2,000,000,000 or more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    daemon_sets: bool = Field(default=True, alias="daemonSets", strict=True)
    system_critical: bool = Field(default=True, alias="systemCritical", strict=True)
    namespaces: frozenset[str] = frozenset({"kube-system"})

    def covers(self, pod: Pod) -> bool:
        """Whether this pod is exempt."""
        return (
            pod.namespace in self.namespaces
            or (self.daemon_sets and pod.controller_kind == "DaemonSet")
            or (self.system_critical and (pod.priority or 0) >= SYSTEM_CRITICAL_PRIORITY)
        )
