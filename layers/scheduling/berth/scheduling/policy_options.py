"""Options of the policy: which pods are exempt, how preemption chooses, which rejected nodes preemption may help on."""

from __future__ import annotations

from enum import StrEnum

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


class Choose(StrEnum):
    """ALL: every node that the policy agrees to, for the scheduler to choose from. ONE: the best of them alone."""

    ONE = "one"
    ALL = "all"


class PreemptionConfiguration(BaseModel):
    """choose: `one` or `all`. One where no other extender is asked after Berth: the scheduler has no choice left."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    choose: Choose = Choose.ALL


class Unresolvable(StrEnum):
    """ALWAYS: all of them, as kube-scheduler 1.36 needs it (fact 15). AS_PLUGINS_SAY: for a scheduler that asks
    extenders in preemption, too; before that it brings a pod that is tried without end.
    """

    ALWAYS = "always"
    AS_PLUGINS_SAY = "as-plugins-say"
