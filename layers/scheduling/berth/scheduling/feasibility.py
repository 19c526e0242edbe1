"""The decision of filter: the nodes that a pod may go to, and the reasons against the others.

An owner reference does not prove that a DaemonSet owns a pod: the creator of the pod writes it, and the API server does
not check that the owner exists. So `is_daemon_set_pod` also requires the other fields that the DaemonSet controller
sets. A pod with these fields fits only on one node, so a false claim gains little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import compress
from types import MappingProxyType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field

from berth.scheduling.evaluation.verdicts import NONE_REJECTED, FilterResult, Rejected
from berth.scheduling.fields.taints import NO_EXECUTE, NO_SCHEDULE, Taint, TolerationIndex
from berth.scheduling.framework.plugin import Status, unresolvable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodSpec
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.node_list import NodeRefs

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""The priority of `system-cluster-critical`. Priority classes of users have at most 1,000,000,000."""

TOLERATED = (
    Taint("node.kubernetes.io/not-ready", "", NO_EXECUTE),
    Taint("node.kubernetes.io/unreachable", "", NO_EXECUTE),
    Taint("node.kubernetes.io/disk-pressure", "", NO_SCHEDULE),
    Taint("node.kubernetes.io/memory-pressure", "", NO_SCHEDULE),
    Taint("node.kubernetes.io/pid-pressure", "", NO_SCHEDULE),
    Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE),
)
"""The taints that every DaemonSet's pod tolerates, because the DaemonSet controller adds the tolerations."""

# Cache the results: a pod may have thousands of tolerations, and each call checks them several times.
_KNOWN: WeakKeyDictionary[PodSpec, bool] = WeakKeyDictionary()


class Exemption(BaseModel):
    """The exempt pods, which only filters with `applies_to_exempt_pods` check. daemonSets: see `is_daemon_set_pod`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    daemon_sets: bool = Field(default=True, alias="daemonSets", strict=True)
    system_critical: bool = Field(default=True, alias="systemCritical", strict=True)
    namespaces: frozenset[str] = frozenset({"kube-system"})

    def covers(self, pod: Pod) -> bool:
        spec = pod.spec
        return (
            pod.label_set.namespace in self.namespaces
            or (self.daemon_sets and is_daemon_set_pod(pod))
            or (self.system_critical and (spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY)
        )

    def covered(self, pod: Pod) -> bool:
        """Return whether this pod is exempt, or was exempt when it was bound. Check only the owner of a DaemonSet's pod
        on a node: the snapshot does not keep its node affinity and tolerations."""
        return self.covers(pod) or (self.daemon_sets and bool(pod.node_name) and has_daemon_set(pod))


def has_daemon_set(pod: Pod) -> bool:
    owner = pod.spec.controller
    return owner is not None and (owner.kind, owner.api_version) == ("DaemonSet", "apps/v1")


def is_daemon_set_pod(pod: Pod) -> bool:
    """Return whether the pod has the owner, the single node and the tolerations that the DaemonSet controller sets. Do
    not call this for pods on a node: the snapshot does not keep these fields."""
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


TOO_COSTLY = unresolvable("", NodeRejection.TOO_COSTLY, reason_code=ReasonCode.TOO_COSTLY)
"""The verdict on every node if a decision takes too long. It is unresolvable: the scheduler does not try preemption,
and retries after an event or a flush of its queue. After an Error it would retry every few seconds (facts 41, 42)."""

NONE_FAILED: Mapping[str, Status] = MappingProxyType({})


class Unresolvable(StrEnum):
    """The rejected nodes that filter reports as unresolvable. ALWAYS: all rejected nodes. AS_PLUGINS_SAY: the nodes on
    which evictions cannot help. It is for schedulers that call extenders in preemption, too; with it, kube-scheduler
    1.34 to 1.37 retries pods endlessly (fact 15)."""

    ALWAYS = "always"
    AS_PLUGINS_SAY = "as-plugins-say"


class Feasibility(NamedTuple):
    """The nodes of a request that the pod may go to, and the reasons against the other nodes.

    feasible: in the request's order; for a gang's member, in the plan's order. failed: the rejected nodes on which
    preemption may help (FailedNodes). unresolvable: the other rejected nodes. A node is never in both (fact 15).
    exempt: no filter applied to the pod. verdicts: the verdicts on all nodes; None if `exempt`. chosen: the only node
    that `best` keeps. totals: the total scores of passing nodes; set only by `best`. A NamedTuple is fast to create.
    """

    feasible: list[str]
    failed: Mapping[str, Status] = NONE_FAILED
    unresolvable: Rejected = NONE_REJECTED
    exempt: bool = False
    too_costly: bool = False
    verdicts: FilterResult | None = None
    chosen: str = ""
    totals: Sequence[int] | None = None

    @property
    def rejected(self) -> Mapping[str, Status]:
        return {**self.failed, **self.unresolvable} if self.failed else self.unresolvable

    @property
    def main_reason_code(self) -> ReasonCode | None:
        """The code of the reason that rejects the most nodes; None if there is no reason. Ties go to the alphabetically
        first code: the order of statuses depends on earlier calls, but equal requests must have equal records."""
        counts: Counter[ReasonCode] = Counter()
        # Counting the bytes takes only a microsecond for each status, and there are few statuses.
        for index, status in enumerate(self.unresolvable.statuses if self.unresolvable else ()):
            for code in status.reason_codes[:1]:
                counts[code] += self.unresolvable.codes.count(index)
        counts.update(code for status in self.failed.values() for code in status.reason_codes[:1])
        return min(counts, key=lambda code: (-counts[code], code), default=None)


def none_feasible(nodes: NodeRefs, status: Status, *, too_costly: bool = False) -> Feasibility:
    rejected = Rejected(nodes.names, bytes(len(nodes.names)), (status,))
    verdicts = FilterResult(nodes, rejected, bytes(len(nodes.names)))
    return Feasibility([], unresolvable=rejected, too_costly=too_costly, verdicts=verdicts)


def only_feasible(nodes: NodeRefs, feasible: Sequence[str], status: Status) -> Feasibility:
    """Accept the nodes in `feasible`, in this order, and reject the other nodes with this status."""
    mask = bytes(map(frozenset(feasible).__contains__, nodes.names))
    others = list(compress(nodes.names, mask.translate(b"\1\0" + bytes(254))))
    rejected = Rejected(others, bytes(len(others)), (status,))
    return Feasibility([*feasible], unresolvable=rejected, verdicts=FilterResult(nodes, rejected, mask))


class ProfileChoice:
    def __init__(
        self,
        default: Profile,
        by_scheduler: Mapping[str, Profile],
        exemption: Exemption,
        for_planning: Mapping[str, Profile],
    ) -> None:
        """Prepare the choice. for_planning: by name, the profiles for gangs, which have all kube-scheduler filters."""
        self._default, self._by_scheduler, self._for_planning = default, by_scheduler, for_planning
        self.is_exempt, self.was_exempt = exemption.covers, exemption.covered
        self.all = (default, *by_scheduler.values())
        self._for_exempt_pods = {each.name: each.for_exempt_pods() for each in self.all}

    def named_by(self, pod: Pod) -> Profile:
        """Return the profile for the pod's schedulerName, whether the pod is exempt or not."""
        return self._by_scheduler.get(pod.spec.scheduler_name, self._default)

    def of(self, pod: Pod) -> Profile:
        """Return the profile for the pod. For an exempt pod it has only the filters that apply to exempt pods."""
        profile = self.named_by(pod)
        return self._for_exempt_pods[profile.name] if self.is_exempt(pod) else profile

    def deciding(self, pod: Pod) -> Profile | None:
        """Return the profile that filters this pod; None if the pod is exempt and every node passes."""
        profile = self.named_by(pod)
        if not self.is_exempt(pod):
            return profile
        remaining = self._for_exempt_pods[profile.name]
        return None if remaining.skips(pod) else remaining

    def for_planning(self, pod: Pod) -> Profile:
        profile = self.named_by(pod)
        return self._for_planning.get(profile.name, profile)
