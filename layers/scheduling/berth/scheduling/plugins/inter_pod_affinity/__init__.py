"""InterPodAffinity: filters and scores a node by the pods on nodes of its topology domain."""

from __future__ import annotations

from pydantic import Field

from berth.scheduling.framework.plugin import (
    EVENTS_ON_ONE_NODE,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    Status,
    unresolvable,
)
from berth.scheduling.objects import Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.inter_pod_affinity import filtering, scoring
from berth.scheduling.plugins.inter_pod_affinity.filtering import NAME
from berth.scheduling.plugins.inter_pod_affinity.terms import Terms
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot


class InterPodAffinityArgs(Args):
    """The plugin's arguments. hardPodAffinityWeight: the weight of existing pods' required terms that match the pod."""

    hard_pod_affinity_weight: int = Field(default=1, ge=0, le=100, alias="hardPodAffinityWeight")
    ignore_preferred_terms_of_existing_pods: bool = Field(default=False, alias="ignorePreferredTermsOfExistingPods")


class InterPodAffinity(ClusterFilterPlugin, ClusterScorePlugin):
    """Filters and scores as in kube-scheduler. Pods that are being deleted count."""

    name = NAME
    events_to_register = EVENTS_ON_ONE_NODE | {ClusterEvent.NODE_DELETE, ClusterEvent.NAMESPACE}

    def __init__(self, args: InterPodAffinityArgs) -> None:
        self._args = args

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        invalid = pod.spec.pod_affinity.invalid
        if invalid is not None:
            return unresolvable(NAME, f"parsing pod: {invalid.cause}", reason_code=ReasonCode.POD_AFFINITY_INVALID)
        return filtering.State.of(Terms(pod, snapshot), snapshot)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore | None:
        if self._args.ignore_preferred_terms_of_existing_pods and not pod.spec.pod_affinity.preferred:
            return None
        # The pod's terms are valid here: filter rejects pods with invalid terms.
        return scoring.State.of(scoring.Preferences(pod, snapshot, self._args.hard_pod_affinity_weight), snapshot)
